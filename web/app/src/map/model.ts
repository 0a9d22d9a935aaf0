/** An answer of `GET map`, so that what one node has is found at once. */

import type { MapPlan, Map as NodeMap } from "../wire.ts";

/** In place of a gang: pods without one. */
export const ALONE = -1;

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

export class Model {
  readonly answer: NodeMap;
  private readonly places: ReadonlyMap<string, number>;
  /** By node: where its parts begin. */
  private readonly first: Int32Array;
  private readonly gangs: ReadonlyMap<string, number>;
  private readonly promises = new Map<number, Held[]>();

  constructor(answer: NodeMap) {
    this.answer = answer;
    this.places = new Map(answer.nodes.name.map((name, at) => [name, at]));
    this.first = firsts(answer.parts.node, answer.nodes.name.length);
    const { namespace, name } = answer.gangs;
    this.gangs = new Map(name.map((each, at) => [gangKey(namespace[at] ?? "", each), at]));
    for (const plan of answer.plans) {
      plan.promised.node.forEach((node, at) => {
        const held = { gang: plan.gang, pods: plan.promised.pods[at] ?? 0, amount: plan.promised.amount[at] ?? 0 };
        this.promises.set(node, [...(this.promises.get(node) ?? []), held]);
      });
    }
  }

  get size(): number {
    return this.answer.nodes.name.length;
  }

  /** The place of a node in the columns; -1 if there is no such node. */
  nodeAt(name: string): number {
    return this.places.get(name) ?? -1;
  }

  /** The place of a gang, by NAMESPACE/NAME; ALONE if there is no such gang here. */
  gangAt(key: string): number {
    return this.gangs.get(key) ?? ALONE;
  }

  /** NAMESPACE/NAME; empty for pods without a gang. */
  gangName(gang: number): string {
    const name = this.answer.gangs.name[gang];
    return name === undefined ? "" : gangKey(this.answer.gangs.namespace[gang] ?? "", name);
  }

  room(node: number): Room {
    const { nodes, blocks } = this.answer;
    return {
      name: nodes.name[node] ?? "",
      block: blocks[nodes.block[node] ?? -1] ?? null,
      allocatable: nodes.allocatable[node] ?? 0,
      used: nodes.used[node] ?? 0,
      leaving: nodes.leaving[node] ?? 0,
      promised: nodes.promised[node] ?? 0,
      free: nodes.free[node] ?? 0,
      anonymous: nodes.anonymous[node] ?? 0,
    };
  }

  /** What gangs have on the node, and pods without one. */
  parts(node: number): Part[] {
    const { gang, pods, used, leaving } = this.answer.parts;
    const found: Part[] = [];
    for (let at = this.first[node] ?? 0; at < (this.first[node + 1] ?? 0); at++) {
      found.push({ gang: gang[at] ?? ALONE, pods: pods[at] ?? 0, used: used[at] ?? 0, leaving: leaving[at] ?? 0 });
    }
    return found;
  }

  /** What plans promise on the node. */
  promised(node: number): readonly Held[] {
    return this.promises.get(node) ?? [];
  }

  /** The plan for this gang that is carried out. */
  planOf(gang: number): MapPlan | null {
    return gang === ALONE ? null : (this.answer.plans.find((plan) => plan.gang === gang) ?? null);
  }

  /** How much each gang has on these nodes, or will have: by its place. */
  amounts(nodes: Iterable<number>): Float64Array {
    const sums = new Float64Array(this.answer.gangs.name.length);
    const { gang, used } = this.answer.parts;
    const add = (its: number, amount: number): void => {
      if (its >= 0) sums[its] = (sums[its] ?? 0) + amount;
    };
    for (const node of nodes) {
      const last = this.first[node + 1] ?? 0;
      for (let at = this.first[node] ?? 0; at < last; at++) add(gang[at] ?? ALONE, used[at] ?? 0);
      for (const held of this.promised(node)) add(held.gang, held.amount);
    }
    return sums;
  }
}

export function gangKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** Where the rows of each node begin in a column that is sorted by node, and where the last ones end. */
function firsts(nodes: readonly number[], count: number): Int32Array {
  const first = new Int32Array(count + 1);
  for (const node of nodes) first[node + 1] = (first[node + 1] ?? 0) + 1;
  for (let at = 1; at <= count; at++) first[at] = (first[at] ?? 0) + (first[at - 1] ?? 0);
  return first;
}

/** What a plan takes from each node: by node, the victims of each gang. */
export function victimsOf(plan: MapPlan | null): Map<number, Held[]> {
  const found = new Map<number, Held[]>();
  plan?.victims.node.forEach((node, at) => {
    const { gang, pods, amount } = plan.victims;
    const held = { gang: gang[at] ?? ALONE, pods: pods[at] ?? 0, amount: amount[at] ?? 0 };
    found.set(node, [...(found.get(node) ?? []), held]);
  });
  return found;
}

/** The names of the nodes of the later map that look different in it. */
export function* differing(before: Model, after: Model): Generator<string> {
  const told = (model: Model, node: number): string => {
    const named = <T extends { readonly gang: number }>(rows: readonly T[]) =>
      rows.map((row) => ({ ...row, gang: model.gangName(row.gang) }));
    return JSON.stringify([model.room(node), named(model.parts(node)), named(model.promised(node))]);
  };
  for (let node = 0; node < after.size; node++) {
    const name = after.answer.nodes.name[node] ?? "";
    if (told(before, before.nodeAt(name)) !== told(after, node)) yield name;
  }
}
