/** The comparison of domains in a decision: the winner, the losers, and the first column in which each loser differs. */

import { utc } from "./times.ts";
import type { Decision, DomainResult, Score } from "./wire.ts";

export interface Column {
  readonly title: string;
}

export interface Line {
  readonly name: string;
  readonly outcome: string;
  readonly reason: string;
  readonly wins: boolean;
  /** By column; null if the domain has no score. */
  readonly cells: readonly string[] | null;
  /** The column that decides between the winner and this one; -1 if none does. */
  readonly decides: number;
}

export interface Comparison {
  readonly topologyKey: string;
  readonly columns: readonly Column[];
  readonly lines: readonly Line[];
  /** Domains that are not listed one by one. */
  readonly others: readonly { readonly outcome: string; readonly reason: string; readonly count: number }[];
}

const NONE = "none";
const COLUMNS: readonly (Column & { readonly cell: (score: Score) => string })[] = [
  {
    title: "budget violations",
    cell: (score) => String(score.podDisruptionBudgetViolations),
  },
  {
    title: "highest priority of a victim",
    cell: (score) => cell(score.highestVictimPriority),
  },
  {
    title: "sum of priorities",
    cell: (score) => String(score.prioritySum),
  },
  { title: "victims", cell: (score) => String(score.units) },
  { title: "pods", cell: (score) => String(score.pods) },
  {
    title: "earliest start",
    cell: (score) => (score.earliestStart ? utc(score.earliestStart) : NONE),
  },
];

function cell(value: number | string | null): string {
  return value === null || value === "" ? NONE : String(value);
}

/** The comparison of a decision about nodes; null if it compares nothing. */
export function comparisonOf(decision: Decision | null): Comparison | null {
  const domains = decision?.domains ?? [];
  if (decision === null || domains.length === 0) return null;
  const terms = termsOf(domains);
  const won = domains.find((each) => isWinner(each, decision));
  const best = won === undefined ? null : cellsOf(won.score, terms);
  return {
    topologyKey: decision.domain?.topologyKey ?? "",
    columns: hasScores(domains) ? [...COLUMNS, ...terms.map((title) => ({ title }))] : [],
    lines: domains.map((each) => lineOf(each, each === won, best, terms)),
    others: decision.otherDomains ?? [],
  };
}

function isWinner(domain: DomainResult, decision: Decision): boolean {
  return decision.domain != null && domain.value === decision.domain.value && domain.outcome === decision.outcome;
}

function hasScores(domains: readonly DomainResult[]): boolean {
  return domains.some((each) => each.score !== null);
}

function termsOf(domains: readonly DomainResult[]): string[] {
  const names = new Set<string>();
  for (const domain of domains) for (const term of domain.score?.terms ?? []) names.add(term.name);
  return [...names];
}

function cellsOf(score: Score | null, terms: readonly string[]): string[] | null {
  if (score === null) return null;
  const values = new Map<string, number>((score.terms ?? []).map((term) => [term.name, term.value]));
  return [...COLUMNS.map((column) => column.cell(score)), ...terms.map((name) => cell(values.get(name) ?? null))];
}

function lineOf(domain: DomainResult, wins: boolean, best: readonly string[] | null, terms: readonly string[]): Line {
  const cells = cellsOf(domain.score, terms);
  const decides = wins || best === null || cells === null ? -1 : cells.findIndex((each, at) => each !== best[at]);
  return {
    name: domain.value ?? "the whole cluster",
    outcome: domain.outcome,
    reason: domain.reason,
    wins,
    cells,
    decides,
  };
}
