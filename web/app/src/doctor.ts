/** The findings in the order in which they are shown: the worst first. */

import type { Finding, Findings } from "./wire.ts";

export interface Level {
  readonly name: string;
  readonly title: string;
  readonly findings: readonly Finding[];
}

const TITLES: readonly (readonly [string, string])[] = [
  ["Error", "Errors: pods or Workloads wait because of them, or will soon"],
  ["Warning", "Warnings: something does not work as it should"],
  ["Note", "Notes: states that may be wanted, or that cannot be seen"],
  ["OK", "OK: nothing is wrong"],
];

/** The levels that have findings. Within a level the order is that of the answer. */
export function levelsOf({ findings }: Findings): Level[] {
  return TITLES.map(([name, title]) => ({
    name,
    title,
    findings: findings.filter((each) => each.level === name),
  })).filter((level) => level.findings.length > 0);
}

/** The answer, as the command's first line says it. */
export function headOf({ findings }: Findings): string {
  const faults = findings.filter((each) => each.fault !== null).length;
  if (faults === 0) return "All is well";
  return faults === 1 ? "1 fault" : `${faults} faults`;
}
