import { useEffect, useState } from "preact/hooks";
import { Loader } from "../loader.ts";
import { changes } from "../state.ts";

/** An answer that is asked for again when something has changed. The question stays the same. */
export function useLoader<T>(ask: (signal: AbortSignal) => Promise<T>, leastMs: number): Loader<T> {
  const [loader] = useState(() => new Loader<T>(ask, leastMs));
  useEffect(() => {
    const unsubscribe = changes.subscribe(() => loader.refresh());
    return () => {
      unsubscribe();
      loader.stop();
    };
  }, [loader]);
  return loader;
}
