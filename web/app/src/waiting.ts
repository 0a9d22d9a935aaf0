/** The list of what waits: sections, filters, and what may be chosen in them. */

import type { Filters } from "./address.ts";
import type { Row, Waiting } from "./wire.ts";

/** Of thousands. To make one takes long. */
const NUMBERS = new Intl.NumberFormat("en-US");

export type SectionId = "groups" | "pods" | "workloads";

export interface Section {
  readonly id: SectionId;
  readonly title: string;
  /** In which order its rows are. */
  readonly order: string;
  readonly rows: readonly Row[];
  /** How many there are without filters. */
  readonly of: number;
}

/** One line of the list: the heading of a section, or a row of it. */
export type Item = { readonly section: Section } | { readonly row: Row };

const SECTIONS: readonly Omit<Section, "rows" | "of">[] = [
  {
    id: "groups",
    title: "Gangs",
    order: "In the order in which they would be planned. Nothing promises that order.",
  },
  { id: "pods", title: "Pods without a gang", order: "" },
  { id: "workloads", title: "Workloads", order: "Each place is one in its ClusterQueue." },
];

/** The sections with the rows that the filters let through. */
export function sectionsOf(waiting: Waiting, filters: Filters): Section[] {
  const words = filters.text.toLowerCase().split(/\s+/).filter(Boolean);
  return SECTIONS.filter((section) => filters.kind === "" || filters.kind === section.id).map((section) => ({
    ...section,
    rows: waiting[section.id].filter((row) => isLetThrough(row, filters, words)),
    of: waiting[section.id].length,
  }));
}

function isLetThrough(row: Row, filters: Filters, words: readonly string[]): boolean {
  if (filters.namespace !== "" && row.namespace !== filters.namespace) return false;
  if (filters.state !== "" && row.state !== filters.state) return false;
  if (words.length === 0) return true;
  const text = `${row.namespace}/${row.name} ${row.state} ${row.queue} ${row.sentence}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The lines of the list. A section without rows has its heading alone if it has none without filters either. */
export function itemsOf(sections: readonly Section[]): Item[] {
  const items: Item[] = [];
  for (const section of sections) {
    if (section.of === 0) continue;
    items.push({ section });
    for (const row of section.rows) items.push({ row });
  }
  return items;
}

/** How often each value occurs, by its name. */
export function counts(waiting: Waiting, value: (row: Row) => string): Map<string, number> {
  const found = new Map<string, number>();
  for (const { id } of SECTIONS) {
    for (const row of waiting[id]) found.set(value(row), (found.get(value(row)) ?? 0) + 1);
  }
  return new Map([...found].sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** What a row says besides its sentence. */
export function detailsOf(row: Row): string[] {
  const said: string[] = [];
  if (row.priority !== null) said.push(`priority ${row.priority}`);
  if (row.bound !== null && row.members !== null) said.push(membersOf(row.bound, row.members, row.minCount));
  if (row.queue !== "") said.push(`queue ${row.queue}`);
  return said;
}

function membersOf(bound: number, members: number, minCount: number | null): string {
  const needed = minCount === null ? "" : `, minCount ${minCount}`;
  return `${bound} of ${members} members have a node${needed}`;
}

/** A number of rows. */
export function grouped(count: number): string {
  return NUMBERS.format(count);
}

const NAMES = new Map<string, string>([
  ["podgroup", "PodGroup"],
  ["pod", "Pod"],
  ["job", "Job"],
  ["workload", "Workload"],
  ["clusterqueue", "ClusterQueue"],
  ["localqueue", "LocalQueue"],
  ["node", "Node"],
  ["preemptionplan", "PreemptionPlan"],
  ["dispatchplan", "DispatchPlan"],
]);

/** The kind as Kubernetes writes it. */
export function kindName(kind: string): string {
  return NAMES.get(kind) ?? kind;
}
