/** What the view Report shows of an answer: its numbers in words, and its bars. */

import type { DearDecision, Report, ReportRow } from "./wire.ts";

/** A part of a bar. Each kind has its own look, in print and without colours, too. */
export interface Part {
  readonly kind: "nobody" | "others" | "ours";
  readonly number: number;
}

/** A row of a picture: its name, its bars one below the other, and the numbers beside them. */
export interface BarRow {
  readonly name: string;
  readonly bars: readonly (readonly Part[])[];
  readonly said: string;
}

/** The lines of the costs in the words of the command (`answers/reports/costs.py`). */
export const COSTS = new Map([
  ["servedNobody", "lost work of victims that served nobody"],
  ["idleRemainders", "idle remainders of broken groups"],
  ["heldInPieces", "room that gangs in pieces held"],
  ["beyondOurs", "lost work of victims beyond ours"],
  ["sum", "sum"],
]);

/** The victims of a row: those of the scheduler, and below them ours. */
export function victimsOf(row: ReportRow): BarRow {
  const { pods, servedNobody } = row.scheduler;
  return {
    name: row.name,
    bars: [
      [
        { kind: "nobody", number: servedNobody },
        { kind: "others", number: pods - servedNobody },
      ],
      [{ kind: "ours", number: row.ours.pods }],
    ],
    said: `scheduler ${pods}, of these in vain ${servedNobody}; ours ${row.ours.pods}`,
  };
}

/** How many preemptors waited for how long. */
export function waitsOf(report: Report): BarRow[] {
  return report.waits.map(({ name, decisions }) => ({
    name,
    bars: [[{ kind: "others", number: decisions }]],
    said: String(decisions),
  }));
}

/** What the longest bar of these rows stands for. */
export function longest(rows: readonly BarRow[]): number {
  return Math.max(0, ...rows.flatMap((row) => row.bars.map(lengthOf)));
}

export function lengthOf(bar: readonly Part[]): number {
  return bar.reduce((sum, part) => sum + part.number, 0);
}

/** The numbers of all decisions, with their names. */
export function sumsOf({ total }: Report): readonly (readonly [string, string])[] {
  const { scheduler } = total;
  return [
    ["Decisions that are compared", `${total.compared} of ${total.decisions}`],
    ["Pods that reprieve would have evicted", String(total.ours.pods)],
    ["Pods that the scheduler preempted", String(scheduler.pods)],
    ["Of these, served nobody", String(scheduler.servedNobody)],
    ["Groups that it broke", String(scheduler.groupsBroken)],
    ["Gangs that were in pieces", String(scheduler.inPieces)],
    ["Seconds in pieces", String(scheduler.inPiecesSeconds)],
    ["Preemptors that were bound", String(scheduler.bound)],
    ["Median of the seconds until bound", seconds(scheduler.medianSecondsUntilBound) || "none was bound"],
  ];
}

/** Whole seconds; empty if they are not known. */
export function seconds(value: number | null): string {
  return value === null ? "" : value.toFixed(0);
}

/** The dearest decisions, of one day if it is named. What a reader may not name has no day. */
export function decisionsOf(report: Report, day: string): readonly DearDecision[] {
  return day === "" ? report.dearest : report.dearest.filter((each) => each.decided.startsWith(day));
}
