import assert from "node:assert/strict";
import { test } from "node:test";
import { comparisonOf } from "../src/comparison.ts";
import type { Decision, DomainResult, Score } from "../src/wire.ts";

const SCORE: Score = {
  podDisruptionBudgetViolations: 0,
  highestVictimPriority: 100,
  prioritySum: 4294967386,
  units: 2,
  pods: 4,
  earliestStart: "2026-02-12T09:00:00Z",
  terms: [{ name: "DisruptionCost", value: 0 }],
};

function domain(value: string | null, score: Score | null, reason = ""): DomainResult {
  return { value, outcome: "Preempts", reason, score };
}

function decision(...domains: DomainResult[]): Decision {
  return {
    outcome: "Preempts",
    domain: { topologyKey: "rack", value: domains[0]?.value ?? null },
    domains,
    otherDomains: [{ outcome: "Unschedulable", reason: "no room", count: 7 }],
  };
}

test("the winner is marked, and the first column that differs in each loser", () => {
  const found = comparisonOf(
    decision(
      domain("b", SCORE, "costs least"),
      domain("a", { ...SCORE, highestVictimPriority: 500, units: 9 }),
      domain("c", { ...SCORE, terms: [{ name: "DisruptionCost", value: 3 }] }),
    ),
  );
  assert.ok(found !== null);
  assert.deepEqual(
    found.lines.map((line) => [line.name, line.wins, found.columns[line.decides]?.title ?? ""]),
    [
      ["b", true, ""],
      ["a", false, "highest priority of a victim"],
      ["c", false, "DisruptionCost"],
    ],
  );
  assert.deepEqual(found.lines[0]?.cells, ["0", "100", "4294967386", "2", "4", "2026-02-12 09:00:00 UTC", "0"]);
  assert.equal(found.topologyKey, "rack");
  assert.deepEqual(found.others, [{ outcome: "Unschedulable", reason: "no room", count: 7 }]);
});

test("a domain without costs has none, and no column decides", () => {
  const found = comparisonOf(decision(domain("b", SCORE), domain("a", null, "costs more: at least 500")));
  assert.deepEqual(found?.lines[1], {
    name: "a",
    outcome: "Preempts",
    reason: "costs more: at least 500",
    wins: false,
    cells: null,
    decides: -1,
  });
});

test("without any costs there are no columns", () => {
  const found = comparisonOf({ outcome: "Unschedulable", domain: null, domains: [domain(null, null)] });
  assert.deepEqual([found?.columns, found?.lines[0]?.name, found?.lines[0]?.wins], [[], "the whole cluster", false]);
});

test("a decision about something else compares nothing", () => {
  assert.equal(comparisonOf(null), null);
  assert.equal(comparisonOf({ turns: [] }), null);
});
