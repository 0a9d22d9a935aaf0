/** A cluster that changes at random, with the frames that a server would send and the map that it would answer. */

import type { Frame, FrameNodes, MapPlan, Map as NodeMap } from "../src/wire.ts";
import { MAP } from "./maps.ts";

interface Node {
  readonly name: string;
  readonly block: string | null;
  readonly amounts: readonly number[];
  /** By NAMESPACE/KEY of the gang; empty for pods without one. */
  readonly parts: ReadonlyMap<string, readonly [number, number, number]>;
}

interface Plan {
  readonly said: Pick<MapPlan, "kind" | "namespace" | "name" | "uid" | "priority">;
  readonly gang: string;
  readonly promised: readonly (readonly [string, number])[];
}

const AMOUNTS = ["allocatable", "used", "leaving", "promised", "free", "anonymous"] as const;
const BLOCKS = ["r1", "r2", "r10", null];
/** Two of `b` have the same name, and differ in their keys. */
const GANGS = ["", ..."abcdef".split("").flatMap((space) => ["One", "two"].map((key) => `${space}/${key}`)), "b/Two"];

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function randomly(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export class Changing {
  private readonly random: () => number;
  private readonly nodes = new Map<string, Node>();
  private plans: Plan[] = [];
  private number = 1;

  constructor(seed: number) {
    this.random = randomly(seed);
    for (let at = 0; at < 12; at++) this.nodes.set(`n${at}`, this.node(`n${at}`));
  }

  /** The map that a server answers now. Made in the plainest way: everything anew. */
  answer(): NodeMap {
    const place = ({ block }: Node): number => BLOCKS.indexOf(block);
    const number = ({ name }: Node): number => Number(name.slice(1));
    const nodes = [...this.nodes.values()].sort((a, b) => place(a) - place(b) || number(a) - number(b));
    const names = nodes.map(({ name }) => name);
    const blocks = BLOCKS.filter((block) => nodes.some((node) => node.block === block));
    const here = [...nodes.flatMap(({ parts }) => [...parts.keys()]), ...this.plans.map(({ gang }) => gang)];
    const gangs = [...new Set(here)].filter((gang) => gang !== "").sort();
    const rows = nodes.flatMap(({ parts }, node) =>
      [...parts]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([gang, sums]) => ({ node, gang: gangs.indexOf(gang), sums })),
    );
    return {
      ...MAP,
      version: `p-${this.number}-r`,
      moment: `${this.number}`,
      blocks,
      nodes: { ...this.amounts(nodes), name: names, block: nodes.map(({ block }) => blocks.indexOf(block)) },
      gangs: gangColumns(gangs),
      parts: {
        node: rows.map(({ node }) => node),
        gang: rows.map(({ gang }) => gang),
        pods: rows.map(({ sums }) => sums[0]),
        used: rows.map(({ sums }) => sums[1]),
        leaving: rows.map(({ sums }) => sums[2]),
      },
      plans: this.plans.map(({ said, gang, promised }) => {
        const found = promised.map(([name, pods]) => [names.indexOf(name), pods] as const).sort(([a], [b]) => a - b);
        return {
          ...said,
          gang: gangs.indexOf(gang),
          promised: {
            node: found.map(([node]) => node),
            gang: found.map(() => gangs.indexOf(gang)),
            pods: found.map(([, pods]) => pods),
            amount: found.map(([, pods]) => 2 * pods),
          },
          victims: { node: [], gang: [], pods: [], amount: [] },
        };
      }),
    };
  }

  /** Change something. Returns the frame of it. */
  change(): Frame {
    const since = `p-${this.number}-r`;
    this.number += 1 + this.below(3);
    const gone = this.drop();
    const changed = this.put();
    const plans = this.random() < 0.3 || gone.length > 0 ? this.plan() : null;
    const seen = changed.flatMap(({ parts }) => [...parts.keys()]);
    const gangs = [...new Set([...seen, ...(plans ?? []).map(({ gang }) => gang)])].filter((gang) => gang !== "");
    const rows = changed.flatMap(({ parts }, node) => [...parts].map(([gang, sums]) => ({ node, gang, sums })));
    return {
      since,
      version: `p-${this.number}-r`,
      moment: `${this.number}`,
      trouble: "",
      topologyKeys: null,
      resources: null,
      gone,
      nodes: {
        ...this.amounts(changed),
        name: changed.map(({ name }) => name),
        block: changed.map(({ block }) => block),
      },
      gangs: gangColumns(gangs),
      parts: {
        node: rows.map(({ node }) => node),
        gang: rows.map(({ gang }) => gangs.indexOf(gang)),
        pods: rows.map(({ sums }) => sums[0]),
        used: rows.map(({ sums }) => sums[1]),
        leaving: rows.map(({ sums }) => sums[2]),
      },
      plans: plans === null ? null : { order: this.plans.map(idOf), changed: plans.map((plan) => told(plan, gangs)) },
    };
  }

  private below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  private node(name: string): Node {
    const gangs = GANGS.filter(() => this.random() < 0.12);
    const parts = new Map(gangs.map((gang) => [gang, [1 + this.below(3), 2 + this.below(2), this.below(2)] as const]));
    const block = BLOCKS[this.below(BLOCKS.length)] ?? null;
    return { name, block, amounts: AMOUNTS.map(() => this.below(9)), parts };
  }

  private drop(): string[] {
    const gone = [...this.nodes.keys()].filter(() => this.random() < 0.02);
    for (const name of gone) this.nodes.delete(name);
    return gone;
  }

  private put(): Node[] {
    const names = Array.from({ length: 1 + this.below(4) }, () => `n${this.below(16)}`);
    const changed = [...new Set(names)].map((name) => {
      const [now, before] = [this.node(name), this.nodes.get(name)];
      // A node seldom moves.
      return before === undefined || this.random() < 0.1 ? now : { ...now, block: before.block };
    });
    for (const node of changed) this.nodes.set(node.name, node);
    return changed;
  }

  private plan(): Plan[] {
    const names = [...this.nodes.keys()];
    this.plans = GANGS.filter((gang) => gang !== "" && this.random() < 0.4).map((gang) => {
      const nodes = names.filter(() => this.random() < 0.2);
      const promised = nodes.map((name) => [name, 1 + this.below(3)] as const);
      const said = {
        kind: "PodGroup",
        namespace: gang.slice(0, 1),
        name: gang.slice(2),
        uid: `uid-${gang}`,
        priority: 7,
      };
      // A gang without promises has a name in the columns only if it has pods.
      return { said, gang, promised: promised.length > 0 ? promised : [[names[0] ?? "", 1] as const] };
    });
    return this.plans;
  }

  private amounts(nodes: readonly Node[]): Omit<FrameNodes, "name" | "block"> {
    const [allocatable = [], used = [], leaving = [], promised = [], free = [], anonymous = []] = AMOUNTS.map((_, at) =>
      nodes.map(({ amounts }) => amounts[at] ?? 0),
    );
    return { allocatable, used, leaving, promised, free, anonymous };
  }
}

function gangColumns(gangs: readonly string[]) {
  const name = gangs.map((gang) => gang.slice(2).toLowerCase());
  return { namespace: gangs.map((gang) => gang.slice(0, 1)), name, key: gangs.map((gang) => gang.slice(2)) };
}

function idOf({ said: { kind, namespace, name, uid } }: Plan): string {
  return [kind, namespace, name, uid].join("/");
}

function told({ said, gang, promised }: Plan, gangs: readonly string[]) {
  const rows = {
    node: promised.map(([node]) => node),
    gang: promised.map(() => gangs.indexOf(gang)),
    pods: promised.map(([, pods]) => pods),
    amount: promised.map(([, pods]) => 2 * pods),
  };
  return { ...said, gang: gangs.indexOf(gang), promised: rows, victims: { node: [], gang: [], pods: [], amount: [] } };
}
