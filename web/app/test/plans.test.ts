import assert from "node:assert/strict";
import { test } from "node:test";
import { ALL_PLANS } from "../src/address.ts";
import { planPicture } from "../src/plan_picture.ts";
import { after, before, countsOf, endOf, isCarriedOut, narrowedPlans } from "../src/plans.ts";
import type { PlannedNode, PlanRow } from "../src/wire.ts";

function row(part: Partial<PlanRow>): PlanRow {
  return {
    kind: "PreemptionPlan",
    namespace: "research",
    name: "train-1",
    plane: "Nodes",
    preemptor: { kind: "PodGroup", namespace: "research", name: "train", priority: 1 },
    outcome: "Preempts",
    standing: "GoesOn",
    phase: "Evicting",
    sentence: "It evicts 1 unit with 2 pods.",
    evictedBy: "",
    victimUnits: 1,
    victimPods: 2,
    cluster: "",
    decided: "",
    since: "",
    end: "",
    inVain: null,
    ...part,
  };
}

const NODE: PlannedNode = { name: "n0", leaving: ["b/x"], coming: ["a/t-0"], staying: ["c/k"], othersStay: true };

test("only a plan whose preemptor got its room has a good end", () => {
  const over = (part: Partial<PlanRow>) => endOf(row({ standing: "Over", ...part }));
  assert.equal(over({ phase: "Bound", inVain: false }), "Got");
  assert.equal(over({ phase: "QuotaReserved" }), "Got");
  assert.equal(over({ phase: "Aborted", inVain: true }), "InVain");
  assert.equal(over({ phase: "Aborted", inVain: false }), "Ended");
  assert.equal(over({ phase: "Unschedulable" }), "Ended");
});

test("filters narrow the list together", () => {
  const rows = [
    row({}),
    row({ standing: "Observed", phase: "Observed" }),
    row({ namespace: "__proto__", preemptor: { kind: "Pod", namespace: "__proto__", name: "web", priority: 2 } }),
  ];
  assert.equal(narrowedPlans(rows, ALL_PLANS).length, 3);
  assert.deepEqual(narrowedPlans(rows, { ...ALL_PLANS, standing: "Observed" }), [rows[1]]);
  assert.deepEqual(narrowedPlans(rows, { ...ALL_PLANS, namespace: "__proto__" }), [rows[2]]);
  assert.deepEqual(narrowedPlans(rows, { ...ALL_PLANS, text: "POD web" }), [rows[2]]);
  assert.deepEqual(narrowedPlans(rows, { ...ALL_PLANS, plane: "Quota" }), []);
  assert.deepEqual(
    [...countsOf(rows, (each) => each.namespace)],
    [
      ["__proto__", 1],
      ["research", 2],
    ],
  );
});

test("nobody carries out what is only observed or proposed", () => {
  assert.ok(isCarriedOut(row({})) && isCarriedOut(row({ standing: "Over" })));
  assert.ok(!isCarriedOut(row({ standing: "Observed" })) && !isCarriedOut(row({ standing: "Proposed" })));
});

test("a node has the same pods before and after, but those that leave and come", () => {
  assert.deepEqual(
    before(NODE).map((each) => each.mark),
    ["staying", "others", "leaving"],
  );
  assert.deepEqual(
    after(NODE).map((each) => each.mark),
    ["staying", "others", "coming"],
  );
  assert.deepEqual(
    before({ ...NODE, staying: null, othersStay: false }).map((each) => each.pod),
    ["b/x"],
  );
});

test("a picture names all pods, and text in it stays text", () => {
  const hostile = '</svg><script>alert("1")</script>\u202e';
  const picture = planPicture(hostile, [{ ...NODE, name: hostile, leaving: [hostile] }]);
  assert.ok(!picture.includes("<script"));
  assert.ok(picture.includes("&lt;script&gt;") && picture.includes("\\u202e"));
  assert.ok(picture.includes("<title>a/t-0: coming</title>"));
});
