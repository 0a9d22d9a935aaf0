/** From an answer of `GET map` to a model, and back. */

import type { GangColumns, MapPlan, Map as NodeMap, PartColumns } from "../wire.ts";
import { ALONE, compared, Gangs } from "./gangs.ts";
import { Model, type Node, type Part, type Placed, type Plan, promisesOf } from "./model.ts";

export function modelOf(answer: NodeMap): Model {
  const { blocks, nodes, gangs: named, parts: rows, plans: told, ...head } = answer;
  const gangs = new Gangs();
  const numbers = gangs.numbersOf(named);
  const parts = partsBy(rows, numbers, nodes.name.length, gangs);
  const found = nodes.name.map((_, at) => nodeIn(nodes, at, blocks[nodes.block[at] ?? -1] ?? null, parts[at] ?? []));
  const plans = told.map((plan) => planOf(plan, (at) => nodes.name[at] ?? "", numbers));
  return new Model({
    head,
    blocks,
    nodes: found,
    places: placesOf(found),
    gangs,
    named: namedIn(found, plans, gangs.size),
    plans,
    promises: promisesOf(plans),
  });
}

type Amounts = Pick<NodeMap["nodes"], "name" | "allocatable" | "used" | "leaving" | "promised" | "free" | "anonymous">;

/** The node at this place of columns. */
export function nodeIn(columns: Amounts, at: number, block: string | null, parts: readonly Part[]): Node {
  return {
    name: columns.name[at] ?? "",
    block,
    allocatable: columns.allocatable[at] ?? 0,
    used: columns.used[at] ?? 0,
    leaving: columns.leaving[at] ?? 0,
    promised: columns.promised[at] ?? 0,
    free: columns.free[at] ?? 0,
    anonymous: columns.anonymous[at] ?? 0,
    parts,
  };
}

/** By place of the node: its parts. `numbers`: of the gangs in the columns. */
export function partsBy(columns: PartColumns, numbers: readonly number[], nodes: number, gangs: Gangs): Part[][] {
  const found: Part[][] = Array.from({ length: nodes }, () => []);
  columns.node.forEach((node, at) => {
    found[node]?.push({
      gang: numbers[columns.gang[at] ?? ALONE] ?? ALONE,
      pods: columns.pods[at] ?? 0,
      used: columns.used[at] ?? 0,
      leaving: columns.leaving[at] ?? 0,
    });
  });
  for (const parts of found) parts.sort((one, other) => gangs.compare(one.gang, other.gang));
  return found;
}

interface Told<N> extends Pick<MapPlan, "kind" | "namespace" | "name" | "uid" | "priority" | "gang"> {
  readonly promised: Rows<N>;
  readonly victims: Rows<N>;
}

interface Rows<N> {
  readonly node: readonly N[];
  readonly gang: readonly number[];
  readonly pods: readonly number[];
  readonly amount: readonly number[];
}

/** `numbers`: of the gangs in the columns. */
export function planOf<N>(plan: Told<N>, nameOf: (node: N) => string, numbers: readonly number[]): Plan {
  const number = (gang: number | undefined): number => numbers[gang ?? ALONE] ?? ALONE;
  const rows = ({ node, gang, pods, amount }: Rows<N>): Placed[] =>
    node.map((each, at) => ({
      node: nameOf(each),
      gang: number(gang[at]),
      pods: pods[at] ?? 0,
      amount: amount[at] ?? 0,
    }));
  const { kind, namespace, name, uid, priority } = plan;
  const said = { kind, namespace, name, uid, priority };
  return { ...said, gang: number(plan.gang), promised: rows(plan.promised), victims: rows(plan.victims) };
}

export function placesOf(nodes: readonly Node[]): Map<string, number> {
  return new Map(nodes.map(({ name }, at) => [name, at]));
}

/** By number of the gang: how often parts and promises name it. */
function namedIn(nodes: readonly Node[], plans: readonly Plan[], gangs: number): number[] {
  const named = new Array<number>(gangs).fill(0);
  for (const { parts } of nodes) count(named, parts, 1);
  for (const { promised } of plans) count(named, promised, 1);
  return named;
}

/** Rows that name gangs have come (1) or gone (-1). */
export function count(named: number[], rows: readonly { readonly gang: number }[], by: 1 | -1): void {
  for (const { gang } of rows) if (gang !== ALONE) named[gang] = (named[gang] ?? 0) + by;
}

// ---- the order of the server

/** Numbers in names are compared as numbers: `rack-2` comes before `rack-10`. */
export function natural(one: string, other: string): number {
  const [first, second] = [one.split(/([0-9]+)/), other.split(/([0-9]+)/)];
  for (let at = 0; at < Math.min(first.length, second.length); at++) {
    const [a, b] = [first[at] ?? "", second[at] ?? ""];
    if (at % 2 === 0) {
      if (a !== b) return compared(a, b);
      if (at + 1 < first.length !== at + 1 < second.length) return first.length - second.length;
      continue;
    }
    const [x, y] = [a.replace(/^0+/, ""), b.replace(/^0+/, "")];
    if (x !== y) return x.length - y.length || compared(x, y);
  }
  return first.length - second.length || compared(one, other);
}

function byBlock(one: string | null, other: string | null): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  return natural(one, other);
}

/** The blocks of these nodes. */
export function blocksOf(nodes: readonly Node[]): (string | null)[] {
  return [...new Set(nodes.map(({ block }) => block))].sort(byBlock);
}

/** The nodes, block by block, and in each block by name. */
export function ordered(nodes: readonly Node[], blocks: readonly (string | null)[]): Node[] {
  const places = new Map(blocks.map((block, at) => [block, at]));
  const place = ({ block }: Node): number => places.get(block) ?? 0;
  return [...nodes].sort((one, other) => place(one) - place(other) || natural(one.name, other.name));
}

// ---- the answer

/** What the server answers, if nothing has changed since the last frame. */
export function answerOf({ stock }: Model): NodeMap {
  const { head, blocks, nodes, gangs, named, plans, places } = stock;
  const here = [...named.keys()].filter((gang) => (named[gang] ?? 0) > 0);
  here.sort((one, other) => gangs.compare(one, other));
  const positions = new Map(here.map((gang, at) => [gang, at]));
  const position = (gang: number): number => positions.get(gang) ?? ALONE;
  const blockAt = new Map(blocks.map((block, at) => [block, at]));
  const rows = nodes.flatMap(({ parts }, node) => parts.map((part) => ({ ...part, node })));
  const placed = (those: readonly Placed[]) => {
    const found = those.map((row) => ({ ...row, node: places.get(row.node) ?? -1, gang: position(row.gang) }));
    found.sort((one, other) => one.node - other.node || one.gang - other.gang);
    return {
      node: found.map((row) => row.node),
      gang: found.map((row) => row.gang),
      pods: found.map((row) => row.pods),
      amount: found.map((row) => row.amount),
    };
  };
  return {
    ...head,
    blocks,
    nodes: {
      name: nodes.map(({ name }) => name),
      block: nodes.map(({ block }) => blockAt.get(block) ?? 0),
      allocatable: nodes.map(({ allocatable }) => allocatable),
      used: nodes.map(({ used }) => used),
      leaving: nodes.map(({ leaving }) => leaving),
      promised: nodes.map(({ promised }) => promised),
      free: nodes.map(({ free }) => free),
      anonymous: nodes.map(({ anonymous }) => anonymous),
    },
    gangs: gangColumns(here, gangs),
    parts: {
      node: rows.map(({ node }) => node),
      gang: rows.map(({ gang }) => position(gang)),
      pods: rows.map(({ pods }) => pods),
      used: rows.map(({ used }) => used),
      leaving: rows.map(({ leaving }) => leaving),
    },
    plans: plans.map((plan) => ({
      ...plan,
      gang: position(plan.gang),
      promised: placed(plan.promised),
      victims: placed(plan.victims),
    })),
  };
}

function gangColumns(here: readonly number[], gangs: Gangs): GangColumns {
  const of = (column: "namespace" | "name" | "key"): string[] => here.map((gang) => gangs.gang(gang)?.[column] ?? "");
  return { namespace: of("namespace"), name: of("name"), key: of("key") };
}
