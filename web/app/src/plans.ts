/** The list of plans: what it is narrowed to, and the words of a row. */

import type { PlanFilters } from "./address.ts";
import type { PlannedNode, PlanRow } from "./wire.ts";

type Named = readonly (readonly [string, string])[];

/** What becomes of a plan, and its words. */
export const STANDINGS: Named = [
  ["GoesOn", "Goes on"],
  ["Over", "Over"],
  ["Observed", "Observed only"],
  ["Proposed", "Proposed only"],
];
/** What a plan is about, and its words. */
export const PLANES: Named = [
  ["Nodes", "Room on nodes"],
  ["Quota", "Quota"],
  ["Clusters", "Turns of clusters"],
];

const STANDING = new Map(STANDINGS);

/** The rows that the filters let through. */
export function narrowedPlans(rows: readonly PlanRow[], filters: PlanFilters): PlanRow[] {
  const words = filters.text.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => isLetThrough(row, filters, words));
}

function isLetThrough(row: PlanRow, filters: PlanFilters, words: readonly string[]): boolean {
  if (filters.standing !== "" && row.standing !== filters.standing) return false;
  if (filters.namespace !== "" && row.namespace !== filters.namespace) return false;
  if (filters.plane !== "" && row.plane !== filters.plane) return false;
  if (words.length === 0) return true;
  const { kind, namespace, name } = row.preemptor;
  const text = `${kind} ${namespace}/${name} ${row.name} ${row.phase} ${row.sentence} ${row.end}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** How often each value occurs, by its name. */
export function countsOf(rows: readonly PlanRow[], value: (row: PlanRow) => string): Map<string, number> {
  const found = new Map<string, number>();
  for (const row of rows) found.set(value(row), (found.get(value(row)) ?? 0) + 1);
  return new Map([...found].sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** What becomes of a plan, in words. */
export function standingOf(row: PlanRow): string {
  return STANDING.get(row.standing) ?? row.standing;
}

/** Whether somebody carries the plan out, or has done so. Nothing was evicted by any other one. */
export function isCarriedOut(row: PlanRow): boolean {
  return row.standing === "GoesOn" || row.standing === "Over";
}

/** Whether what it evicted served nobody, in words; empty if that is no question. */
export function vainOf(inVain: boolean | null): string {
  if (inVain === null) return "";
  return inVain ? "in vain" : "not in vain";
}

/** How a plan that is over has ended. Its preemptor got the room, others left for nothing, or nobody was evicted. */
export type End = "Got" | "InVain" | "Ended";

/** The end of a plan that is over. */
export function endOf(row: PlanRow): End {
  if (row.inVain === true) return "InVain";
  return GOT_IT.has(row.phase) ? "Got" : "Ended";
}

const GOT_IT = new Set(["Bound", "QuotaReserved"]);

export type Mark = "staying" | "leaving" | "coming" | "others";

export interface Square {
  readonly mark: Mark;
  /** NAMESPACE/NAME of a pod; empty for what one may not know. */
  readonly pod: string;
}

/** What stands on the node before the plan: what stays first, then what leaves. */
export function before(node: PlannedNode): Square[] {
  return [...kept(node), ...node.leaving.map((pod) => ({ mark: "leaving", pod }) as const)];
}

/** What stands there after it. */
export function after(node: PlannedNode): Square[] {
  return [...kept(node), ...node.coming.map((pod) => ({ mark: "coming", pod }) as const)];
}

function kept(node: PlannedNode): Square[] {
  const known = (node.staying ?? []).map((pod) => ({ mark: "staying", pod }) as const);
  return node.othersStay ? [...known, { mark: "others", pod: "" }] : known;
}

/** The path that draws a mark in a square of 12 by 12, beside its frame. Each mark has a form of its own. */
export const FORMS: ReadonlyMap<Mark, string> = new Map([
  ["staying", "M3 3h6v6h-6z"],
  ["leaving", "M3.5 3.5h1v1h-1zM7.5 3.5h1v1h-1zM3.5 7.5h1v1h-1zM7.5 7.5h1v1h-1z"],
  ["coming", "M1 7 7 1M1 11 11 1M5 11 11 5"],
  ["others", "M1 1 11 11M11 1 1 11"],
]);
export const MARKS: readonly (readonly [Mark, string])[] = [
  ["staying", "stays"],
  ["leaving", "leaves"],
  ["coming", "comes"],
  ["others", "pods that you may not see"],
];
