/** Puts frames of the stream into a map: the result is the map that the server would answer now. */

import type { Frame, MapPlan, Map as NodeMap } from "../wire.ts";
import { ALONE } from "./model.ts";

const AMOUNTS = ["allocatable", "used", "leaving", "promised", "free", "anonymous"] as const;

interface Gang {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

interface Part {
  readonly gang: Gang | null;
  readonly numbers: readonly [number, number, number];
}

interface Node {
  readonly name: string;
  readonly block: string | null;
  readonly amounts: readonly number[];
  readonly parts: readonly Part[];
}

interface Row {
  readonly node: string;
  readonly gang: Gang | null;
  readonly pods: number;
  readonly amount: number;
}

interface Plan {
  readonly said: Pick<MapPlan, "kind" | "namespace" | "name" | "uid" | "priority">;
  readonly gang: Gang | null;
  readonly promised: readonly Row[];
  readonly victims: readonly Row[];
}

/** Whether the frame can be put into a map of this version: "old" if the map has it, "gap" if one is missing. */
export function fits(version: string, frame: Pick<Frame, "since" | "version">): "yes" | "old" | "gap" {
  const [map, since, now] = [partsOf(version), partsOf(frame.since), partsOf(frame.version)];
  if (map.process !== now.process || map.rights !== now.rights) return "gap";
  if (now.number <= map.number) return "old";
  return since.number <= map.number ? "yes" : "gap";
}

/** A version is PROCESS-NUMBER-RIGHTS. */
function partsOf(version: string) {
  const [process = "", number = "", rights = ""] = version.split("-");
  return { process, number: Number(number), rights };
}

/** What maps were made of. Nodes that are as before are the same objects. */
const made = new WeakMap<NodeMap, ReadonlyMap<string, Node>>();

/** The names of the nodes of the later map that are not as before; null if not both are made of frames. */
export function changedNames(before: NodeMap, after: NodeMap): string[] | null {
  const [old, now] = [made.get(before), made.get(after)];
  if (old === undefined || now === undefined) return null;
  return [...now.values()].filter((node) => old.get(node.name) !== node).map(({ name }) => name);
}

/** The map after the frame. */
export function applied(map: NodeMap, frame: Frame): NodeMap {
  const gangs = gangsOf(frame.gangs);
  const nodes = new Map(made.get(map) ?? nodesOf(map));
  const isNew = (name: string, at: number): boolean => nodes.get(name)?.block !== (frame.nodes.block[at] ?? null);
  const isMoved = frame.nodes.name.some(isNew);
  for (const name of frame.gone) nodes.delete(name);
  const parts = partsBy(frame.parts, gangs, frame.nodes.name.length);
  frame.nodes.name.forEach((name, at) => {
    const amounts = AMOUNTS.map((each) => frame.nodes[each][at] ?? 0);
    nodes.set(name, { name, block: frame.nodes.block[at] ?? null, amounts, parts: parts[at] ?? [] });
  });
  const plans = plansAfter(map, frame, gangs);
  const { topologyKeys, resources, version, moment, trouble } = frame;
  const ordered = [...nodes.values()];
  const after = {
    ...map,
    version,
    moment,
    trouble,
    topologyKeys: topologyKeys ?? map.topologyKeys,
    resources: resources ?? map.resources,
    ...columns(ordered, plans, isMoved),
  };
  made.set(after, isMoved ? new Map(ordered.map((node) => [node.name, node])) : nodes);
  return after;
}

function gangsOf(columns: NodeMap["gangs"]): Gang[] {
  return columns.name.map((name, at) => ({
    namespace: columns.namespace[at] ?? "",
    name,
    key: columns.key[at] ?? "",
  }));
}

function partsBy(columns: NodeMap["parts"], gangs: readonly Gang[], nodes: number): Part[][] {
  const found: Part[][] = Array.from({ length: nodes }, () => []);
  columns.node.forEach((node, at) => {
    const numbers = [columns.pods[at] ?? 0, columns.used[at] ?? 0, columns.leaving[at] ?? 0] as const;
    found[node]?.push({ gang: gangs[columns.gang[at] ?? ALONE] ?? null, numbers });
  });
  return found;
}

function nodesOf(map: NodeMap): Map<string, Node> {
  const { nodes, blocks } = map;
  const parts = partsBy(map.parts, gangsOf(map.gangs), nodes.name.length);
  return new Map(
    nodes.name.map((name, at) => {
      const amounts = AMOUNTS.map((each) => nodes[each][at] ?? 0);
      return [name, { name, block: blocks[nodes.block[at] ?? -1] ?? null, amounts, parts: parts[at] ?? [] }];
    }),
  );
}

// ---- plans

function plansAfter(map: NodeMap, frame: Frame, gangs: readonly Gang[]): Plan[] {
  const { name } = map.nodes;
  const before = map.plans.map((plan) => planOf(plan, (at) => name[at] ?? "", gangsOf(map.gangs)));
  if (frame.plans === null) return before;
  const known = new Map(before.map((plan) => [idOf(plan.said), plan]));
  for (const plan of frame.plans.changed)
    known.set(
      idOf(plan),
      planOf(plan, (node: string) => node, gangs),
    );
  return frame.plans.order.flatMap((id) => known.get(id) ?? []);
}

function idOf({ kind, namespace, name, uid }: Plan["said"]): string {
  return [kind, namespace, name, uid].join("/");
}

interface Placed<N> {
  readonly node: readonly N[];
  readonly gang: readonly number[];
  readonly pods: readonly number[];
  readonly amount: readonly number[];
}

interface Told<N> extends Omit<MapPlan, "promised" | "victims"> {
  readonly promised: Placed<N>;
  readonly victims: Placed<N>;
}

function planOf<N>(plan: Told<N>, nameOf: (node: N) => string, gangs: readonly Gang[]): Plan {
  const rows = ({ node, gang, pods, amount }: Placed<N>): Row[] =>
    node.map((each, at) => ({
      node: nameOf(each),
      gang: gangs[gang[at] ?? ALONE] ?? null,
      pods: pods[at] ?? 0,
      amount: amount[at] ?? 0,
    }));
  const { kind, namespace, name, uid, priority } = plan;
  const said = { kind, namespace, name, uid, priority };
  return { said, gang: gangs[plan.gang] ?? null, promised: rows(plan.promised), victims: rows(plan.victims) };
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

function compared(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function byBlock(one: string | null, other: string | null): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  return natural(one, other);
}

function byGang(one: Gang, other: Gang): number {
  return compared(one.namespace, other.namespace) || compared(one.key, other.key);
}

function gangId(gang: Gang | null): string {
  return gang === null ? "" : `${gang.namespace}/${gang.key}`;
}

type Columns = Pick<NodeMap, "blocks" | "nodes" | "gangs" | "parts" | "plans">;

/** The columns of these nodes and plans. `isMoved`: the nodes are not in their order yet, and are put into it. */
function columns(nodes: Node[], plans: readonly Plan[], isMoved: boolean): Columns {
  const blocks = [...new Set(nodes.map(({ block }) => block))].sort(byBlock);
  const blockAt = new Map(blocks.map((block, at) => [block, at]));
  const place = ({ block }: Node): number => blockAt.get(block) ?? 0;
  if (isMoved) nodes.sort((one, other) => place(one) - place(other) || natural(one.name, other.name));
  const nodeAt = new Map(nodes.map(({ name }, at) => [name, at]));
  const named = new Map<string, Gang>();
  const name = (gang: Gang | null): void => {
    if (gang !== null) named.set(gangId(gang), gang);
  };
  for (const { parts } of nodes) for (const { gang } of parts) name(gang);
  for (const { promised } of plans) for (const { gang } of promised) name(gang);
  const gangs = [...named.values()].sort(byGang);
  const gangAt = new Map(gangs.map((gang, at) => [gangId(gang), at]));
  const at = (gang: Gang | null): number => gangAt.get(gangId(gang)) ?? ALONE;
  const amounts = (column: number): number[] => nodes.map((node) => node.amounts[column] ?? 0);
  const [allocatable, used, leaving, promised, free, anonymous] = AMOUNTS.map((_, column) => amounts(column));
  const rows = nodes.flatMap(({ parts }, node) =>
    parts.map(({ gang, numbers }) => ({ node, gang: at(gang), numbers })).sort((one, other) => one.gang - other.gang),
  );
  const placed = (those: readonly Row[]) => {
    const found = those.map((row) => ({ ...row, node: nodeAt.get(row.node) ?? -1, gang: at(row.gang) }));
    found.sort((one, other) => one.node - other.node || one.gang - other.gang);
    return {
      node: found.map((row) => row.node),
      gang: found.map((row) => row.gang),
      pods: found.map((row) => row.pods),
      amount: found.map((row) => row.amount),
    };
  };
  return {
    blocks,
    nodes: {
      name: nodes.map((node) => node.name),
      block: nodes.map(place),
      allocatable: allocatable ?? [],
      used: used ?? [],
      leaving: leaving ?? [],
      promised: promised ?? [],
      free: free ?? [],
      anonymous: anonymous ?? [],
    },
    gangs: {
      namespace: gangs.map((gang) => gang.namespace),
      name: gangs.map((gang) => gang.name),
      key: gangs.map((gang) => gang.key),
    },
    parts: {
      node: rows.map((row) => row.node),
      gang: rows.map((row) => row.gang),
      pods: rows.map((row) => row.numbers[0]),
      used: rows.map((row) => row.numbers[1]),
      leaving: rows.map((row) => row.numbers[2]),
    },
    plans: plans.map((plan) => ({
      ...plan.said,
      gang: at(plan.gang),
      promised: placed(plan.promised),
      victims: placed(plan.victims),
    })),
  };
}
