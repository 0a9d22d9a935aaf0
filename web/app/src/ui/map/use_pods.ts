import { useEffect, useMemo, useState } from "preact/hooks";
import { nodePath, Refusal } from "../../client.ts";
import type { Level } from "../../map/shapes.ts";
import { answer } from "../../state.ts";
import type { NodePod, NodeRoom } from "../../wire.ts";

/** Between two questions: the server answers 20 in a second, to all views of one user. */
const PAUSE_MS = 120;
/** How many nodes are asked about for one view. */
const MOST = 40;

interface Known {
  readonly version: string;
  /** Undefined if the server refuses them. */
  readonly pods: readonly NodePod[] | undefined;
}

/** The pods of the nodes in view, once one looks from nearest. They are asked for node by node. */
export function usePods(level: Level, names: readonly string[], version: string) {
  const [known, setKnown] = useState<ReadonlyMap<string, Known>>(new Map());
  useEffect(() => {
    if (level !== "nearest") return;
    const stopping = new AbortController();
    // A name with a slash has no address. No node of a cluster has one.
    const asked = names.slice(0, MOST).filter((name) => !name.includes("/"));
    const wanted = asked.filter((name) => known.get(name)?.version !== version);
    const ask = async (): Promise<void> => {
      for (const name of wanted) {
        const pods = await podsOn(name, stopping.signal);
        if (stopping.signal.aborted) return;
        setKnown((before) => new Map(before).set(name, { version, pods }));
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        if (stopping.signal.aborted) return;
      }
    };
    void ask();
    return () => stopping.abort();
  }, [level, names, version]);
  return useMemo(() => (name: string) => known.get(name)?.pods, [known]);
}

/** Undefined if the server refuses them, or nobody waits for them any longer. */
async function podsOn(name: string, signal: AbortSignal): Promise<readonly NodePod[] | undefined> {
  try {
    return (await answer<NodeRoom>(nodePath(name), { signal })).pods;
  } catch (cause) {
    if (signal.aborted || cause instanceof Refusal) return undefined;
    throw cause;
  }
}
