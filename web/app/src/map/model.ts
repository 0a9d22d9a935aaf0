/** A map, so that what one node has is found at once. A frame makes a new model. It shares what is as before. */

import type { MapPlan, Map as NodeMap } from "../wire.ts";
import { ALONE, type Gang, type Gangs, gangKey } from "./gangs.ts";

export interface Held {
  readonly gang: number;
  readonly pods: number;
  readonly amount: number;
}

/** What one node has. */
export interface Room {
  readonly name: string;
  readonly block: string | null;
  readonly allocatable: number;
  readonly used: number;
  readonly leaving: number;
  readonly promised: number;
  readonly free: number;
  readonly anonymous: number;
}

export interface Part {
  readonly gang: number;
  readonly pods: number;
  readonly used: number;
  readonly leaving: number;
}

export interface Node extends Room {
  /** What gangs have on it, and pods without one: in the order of the server. */
  readonly parts: readonly Part[];
}

/** What a plan promises or takes on a node. */
export interface Placed extends Held {
  readonly node: string;
}

/** A plan that is carried out. */
export interface Plan extends Pick<MapPlan, "kind" | "namespace" | "name" | "uid" | "priority"> {
  readonly gang: number;
  readonly promised: readonly Placed[];
  readonly victims: readonly Placed[];
}

/** What is said of the whole map. */
export type Head = Omit<NodeMap, "blocks" | "nodes" | "gangs" | "parts" | "plans">;

/** What a model is made of. */
export interface Stock {
  readonly head: Head;
  /** In the order of the server. */
  readonly blocks: readonly (string | null)[];
  readonly nodes: readonly Node[];
  /** By name of the node: where it is in `nodes`. It is another one only if nodes came, went or moved. */
  readonly places: ReadonlyMap<string, number>;
  readonly gangs: Gangs;
  /** By number of the gang: how often parts and promises name it. */
  readonly named: readonly number[];
  readonly plans: readonly Plan[];
  /** By name of the node: what plans promise there. */
  readonly promises: ReadonlyMap<string, readonly Held[]>;
}

const NOWHERE: Node = {
  name: "",
  block: null,
  allocatable: 0,
  used: 0,
  leaving: 0,
  promised: 0,
  free: 0,
  anonymous: 0,
  parts: [],
};

export class Model {
  readonly stock: Stock;

  constructor(stock: Stock) {
    this.stock = stock;
  }

  get head(): Head {
    return this.stock.head;
  }

  get size(): number {
    return this.stock.nodes.length;
  }

  /** The place of a node; -1 if there is no such node. */
  nodeAt(name: string): number {
    return this.stock.places.get(name) ?? -1;
  }

  /** The number of a gang, by NAMESPACE/NAME; ALONE if there is no such gang here. */
  gangAt(key: string): number {
    const { gangs, named } = this.stock;
    const here = gangs.withName(key).filter((gang) => (named[gang] ?? 0) > 0);
    return here.reduce((last, gang) => (last === ALONE || gangs.compare(last, gang) < 0 ? gang : last), ALONE);
  }

  /** Undefined for ALONE. */
  gang(gang: number): Gang | undefined {
    return this.stock.gangs.gang(gang);
  }

  /** NAMESPACE/NAME; empty for pods without a gang. */
  gangName(gang: number): string {
    const found = this.gang(gang);
    return found === undefined ? "" : gangKey(found.namespace, found.name);
  }

  room(node: number): Room {
    return this.stock.nodes[node] ?? NOWHERE;
  }

  /** What gangs have on the node, and pods without one. */
  parts(node: number): readonly Part[] {
    return (this.stock.nodes[node] ?? NOWHERE).parts;
  }

  /** What plans promise on the node. */
  promised(node: number): readonly Held[] {
    return this.stock.promises.get(this.room(node).name) ?? [];
  }

  /** The plan for this gang that is carried out. */
  planOf(gang: number): Plan | null {
    return gang === ALONE ? null : (this.stock.plans.find((plan) => plan.gang === gang) ?? null);
  }

  /** How much each gang has on these nodes, or will have: by its number. */
  amounts(nodes: Iterable<number>): Float64Array {
    const sums = new Float64Array(this.stock.gangs.size);
    const add = (gang: number, amount: number): void => {
      if (gang >= 0) sums[gang] = (sums[gang] ?? 0) + amount;
    };
    for (const node of nodes) {
      for (const { gang, used } of this.parts(node)) add(gang, used);
      for (const { gang, amount } of this.promised(node)) add(gang, amount);
    }
    return sums;
  }
}

/** What plans promise, by name of the node. */
export function promisesOf(plans: readonly Plan[]): Map<string, Held[]> {
  const found = new Map<string, Held[]>();
  for (const plan of plans) {
    for (const { node, pods, amount } of plan.promised) add(found, node, { gang: plan.gang, pods, amount });
  }
  return found;
}

/** What a plan takes from each node: by its name, the victims of each gang. */
export function victimsOf(plan: Plan | null): Map<string, Held[]> {
  const found = new Map<string, Held[]>();
  for (const { node, gang, pods, amount } of plan?.victims ?? []) add(found, node, { gang, pods, amount });
  return found;
}

function add(found: Map<string, Held[]>, node: string, held: Held): void {
  const known = found.get(node);
  if (known === undefined) found.set(node, [held]);
  else known.push(held);
}

/** The names of the nodes that look different in the later model; null if it is not made of frames of the same nodes. */
export function changedNames(before: Model, after: Model): Set<string> | null {
  const [old, now] = [before.stock, after.stock];
  if (old.gangs !== now.gangs || old.places !== now.places) return null;
  const found = new Set<string>();
  now.nodes.forEach((node, at) => {
    if (old.nodes[at] !== node) found.add(node.name);
  });
  if (old.promises === now.promises) return found;
  for (const name of new Set([...old.promises.keys(), ...now.promises.keys()])) {
    if (JSON.stringify(old.promises.get(name)) !== JSON.stringify(now.promises.get(name))) found.add(name);
  }
  return found;
}
