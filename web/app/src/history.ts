/** Evictions in time: how many victims in each span, by namespace, rule or whether it was in vain. */

import type { Eviction } from "./wire.ts";

export type By = "namespace" | "rule" | "vain";

export const BYS: readonly (readonly [By, string])[] = [
  ["namespace", "Namespace"],
  ["rule", "Rule"],
  ["vain", "In vain or not"],
];

/** Series that have a mark of their own. All others are one. */
export const MOST_SERIES = 8;
const MOST_SPANS = 48;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const SPANS = [
  MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  24 * HOUR,
  7 * 24 * HOUR,
  28 * 24 * HOUR,
];
const OTHERS = "others";

export interface Span {
  /** In milliseconds since 1970. */
  readonly begin: number;
  readonly end: number;
  /** Victims by series, in their order. */
  readonly counts: readonly number[];
  readonly total: number;
}

export interface Chart {
  readonly series: readonly string[];
  readonly spans: readonly Span[];
  /** The highest total of a span. */
  readonly most: number;
  /** Victims whose time is not known. */
  readonly timeless: number;
}

/** The series of an eviction. */
export function seriesOf(eviction: Eviction, by: By): string {
  if (by === "namespace") return eviction.namespace === "" ? "a namespace that you may not see" : eviction.namespace;
  if (by === "rule") return eviction.rule;
  if (eviction.inVain === null) return "not known yet";
  return eviction.inVain ? "in vain" : "not in vain";
}

/** The chart up to a moment; null without evictions whose time is known. */
export function chartOf(evictions: readonly Eviction[], by: By, moment: string): Chart | null {
  const timed = evictions.filter((each) => !Number.isNaN(Date.parse(each.time)));
  if (timed.length === 0) return null;
  const times = timed.map((each) => Date.parse(each.time));
  const first = Math.min(...times);
  const last = Math.max(Date.parse(moment) || 0, ...times);
  const size =
    SPANS.find((each) => Math.floor(last / each) - Math.floor(first / each) < MOST_SPANS) ?? last - first + 1;
  const names = largest(timed, by);
  const begin = Math.floor(first / size) * size;
  const counts = Array.from({ length: Math.floor((last - begin) / size) + 1 }, () => names.map(() => 0));
  for (const each of timed) {
    const span = counts[Math.floor((Date.parse(each.time) - begin) / size)];
    const place = names.indexOf(seriesOf(each, by));
    const at = place < 0 ? names.length - 1 : place;
    if (span !== undefined) span[at] = (span[at] ?? 0) + each.units;
  }
  const spans = counts.map((each, at) => ({
    begin: begin + at * size,
    end: begin + (at + 1) * size,
    counts: each,
    total: sum(each),
  }));
  return {
    series: names,
    spans,
    most: Math.max(...spans.map((each) => each.total)),
    timeless: sum(evictions.filter((each) => Number.isNaN(Date.parse(each.time))).map((each) => each.units)),
  };
}

/** The series with most victims, then by name; beyond `MOST_SERIES` they are one. */
function largest(evictions: readonly Eviction[], by: By): string[] {
  const counts = new Map<string, number>();
  for (const each of evictions) {
    const name = seriesOf(each, by);
    counts.set(name, (counts.get(name) ?? 0) + each.units);
  }
  const names = [...counts]
    .sort(([one, few], [other, many]) => many - few || (one < other ? -1 : 1))
    .map(([name]) => name);
  return names.length <= MOST_SERIES ? names : [...names.slice(0, MOST_SERIES), OTHERS];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}

/** About four round numbers for the axis, from 0 to at least `most`. */
export function ticks(most: number): number[] {
  const rough = Math.max(1, most / 4);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? rough;
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, at) => at * step);
}
