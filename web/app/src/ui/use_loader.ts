import { effect } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { Loader } from "../loader.ts";
import { changes, isBehind, isPaused } from "../state.ts";

/** An answer that is asked for again when something has changed. The question stays the same. */
export function useLoader<T>(ask: (signal: AbortSignal) => Promise<T>, leastMs: number): Loader<T> {
  const [loader] = useState(() => new Loader<T>(ask, leastMs));
  useEffect(() => {
    const followed = changes.subscribe(() => loader.refresh());
    const held = effect(() => {
      if (isPaused.value && loader.hold()) isBehind.value = true;
    });
    return () => {
      followed();
      held();
      loader.stop();
    };
  }, [loader]);
  return loader;
}
