import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { nodePath, Refusal } from "../../client.ts";
import { oldest } from "../../map/in_view.ts";
import type { Level } from "../../map/shapes.ts";
import { answer } from "../../state.ts";
import type { NodePod, NodeRoom } from "../../wire.ts";

/** Between two questions: the server answers 20 in a second, to all views of one user. */
const PAUSE_MS = 120;
/** How many nodes are asked about for one view. */
const MOST = 40;

/** Undefined if the server refuses them. */
type Pods = readonly NodePod[] | undefined;

/** The pods of the nodes in view, once one looks from nearest. They are asked for node by node. */
export function usePods(level: Level, names: readonly string[], version: string) {
  const [known, setKnown] = useState<ReadonlyMap<string, Pods>>(new Map());
  const newest = useRef(version);
  newest.current = version;
  /** By node, the one that was asked about first at the beginning. */
  const versions = useRef(new Map<string, string>());
  const asking = useRef<AbortSignal | null>(null);
  const begin = useRef((): void => undefined);
  useEffect(() => {
    if (level !== "nearest") return;
    const stopping = new AbortController();
    // A name with a slash has no address. No node of a cluster has one.
    const asked = names.slice(0, MOST).filter((name) => !name.includes("/"));
    const ask = async (): Promise<void> => {
      // Frames may come faster than answers. Each node has its turn all the same.
      for (;;) {
        const now = newest.current;
        const name = oldest(asked, versions.current, now);
        if (name === undefined) break;
        const pods = await podsOn(name, stopping.signal);
        if (stopping.signal.aborted) return;
        versions.current.delete(name);
        versions.current.set(name, now);
        setKnown((before) => new Map(before).set(name, pods));
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        if (stopping.signal.aborted) return;
      }
      asking.current = null;
    };
    begin.current = () => {
      if (asking.current !== null && !asking.current.aborted) return;
      asking.current = stopping.signal;
      void ask();
    };
    begin.current();
    return () => {
      stopping.abort();
      begin.current = () => undefined;
    };
  }, [level, names]);
  useEffect(() => begin.current(), [version]);
  return useMemo(() => (name: string) => known.get(name), [known]);
}

/** Undefined if the server refuses them, or nobody waits for them any longer. */
async function podsOn(name: string, signal: AbortSignal): Promise<Pods> {
  try {
    return (await answer<NodeRoom>(nodePath(name), { signal })).pods;
  } catch (cause) {
    if (signal.aborted || cause instanceof Refusal) return undefined;
    throw cause;
  }
}
