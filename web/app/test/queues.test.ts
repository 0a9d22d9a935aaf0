import assert from "node:assert/strict";
import { test } from "node:test";
import { pictureOf } from "../src/queue_picture.ts";
import {
  accountsOf,
  accountWords,
  barOf,
  branchesOf,
  countWords,
  outcomeWords,
  pairsOf,
  reclaimWords,
  summaryOf,
  victimName,
  victimWords,
  withParents,
} from "../src/queues.ts";
import type { Account, QueueNode, Reclaim, WaitingWorkload } from "../src/wire.ts";

function account(parts: Partial<Account> = {}): Account {
  return {
    flavor: "a100",
    resource: "cpu",
    nominal: "10",
    borrowingLimit: null,
    lendingLimit: null,
    quota: "10",
    used: "0",
    borrowed: "0",
    lentAtLeast: "0",
    lentAtMost: "0",
    free: "10",
    ...parts,
  };
}

function node(name: string, depth: number, parts: Partial<QueueNode> = {}): QueueNode {
  return { kind: "ClusterQueue", name, depth, inactive: null, waiting: 0, quota: [account()], ...parts };
}

const TREE = [
  node("all", 0, { kind: "Cohort", waiting: null }),
  node("inner", 1, { kind: "Cohort", waiting: null }),
  node("a", 2, { waiting: 2 }),
  node("b", 1, { quota: [account({ flavor: "spot" })] }),
];
const QUEUES = { trees: [TREE, [node("alone", 0)]], reclaims: [] };

test("a list of nodes is a tree again", () => {
  const [root] = branchesOf(TREE);
  assert.deepEqual(
    root?.below.map((each) => [each.node.name, each.below.map((inner) => inner.node.name)]),
    [
      ["inner", ["a"]],
      ["b", []],
    ],
  );
  assert.deepEqual(
    withParents(TREE).map((each) => each.parent),
    ["", "all", "inner", "all"],
  );
});

test("the view can be narrowed to one resource of one flavor", () => {
  assert.deepEqual(pairsOf(QUEUES), ["cpu in flavor a100", "cpu in flavor spot"]);
  const names = TREE.map((each) => accountsOf(each, "cpu in flavor spot").length);
  assert.deepEqual(names, [0, 0, 0, 1]);
  assert.equal(summaryOf(QUEUES), "3 ClusterQueues · 2 Cohorts · 2 Workloads wait");
});

test("the bar of a queue that lends ends with what is lent, first what is not sure", () => {
  const lends = account({ used: "2", lentAtLeast: "2", lentAtMost: "8" });
  assert.deepEqual(barOf(lends), {
    parts: [
      { kind: "used", from: 0, to: 0.2 },
      { kind: "perhaps", from: 0.2, to: 0.8 },
      { kind: "lent", from: 0.8, to: 1 },
    ],
    quota: 1,
  });
  assert.equal(accountWords(lends), "2 used of 10, 2 to 8 lent, 10 free");
});

test("the bar of a queue that borrows goes on behind its quota", () => {
  const borrows = account({ used: "40", borrowed: "30", free: "0" });
  assert.deepEqual(barOf(borrows), {
    parts: [
      { kind: "used", from: 0, to: 0.25 },
      { kind: "borrowed", from: 0.25, to: 1 },
    ],
    quota: 0.25,
  });
  assert.equal(accountWords(borrows), "40 used of 10, 30 borrowed, 0 free");
});

test("a bar without a quota or without an end is empty", () => {
  assert.deepEqual(barOf(account({ quota: "0" })), { parts: [], quota: 0 });
  assert.deepEqual(barOf(account({ quota: "unlimited", used: "5" })), { parts: [], quota: null });
});

const RECLAIM: Reclaim = {
  clusterQueue: "a",
  flavor: "a100",
  resource: "cpu",
  amount: "8",
  free: "6",
  withinNominal: true,
  abovePriority: 50,
  rules: ["InCohortReclamation", "InCohortReclamation", "InCohortReclaimWhileBorrowing"],
  victims: [],
};

test("what could be taken back is said as the command says it", () => {
  assert.equal(
    reclaimWords(RECLAIM),
    "8 cpu in flavor a100, 6 of it free already, within its nominal quota, for a Workload of priority above 50, " +
      "by reclaimWithinCohort and borrowWithinCohort",
  );
  const anybody = { ...RECLAIM, free: "0", withinNominal: false, abovePriority: null, rules: ["Other"] };
  assert.equal(reclaimWords(anybody), "8 cpu in flavor a100, beyond its nominal quota, for a Workload, by Other");
});

test("a Workload that one may not see has neither name nor priority", () => {
  const hidden = { clusterQueue: "b", reason: "InCohortReclamation" };
  assert.equal(victimWords(hidden, "cpu"), "of b");
  assert.equal(victimName(undefined), "a Workload of another namespace");
  const seen = { ...hidden, workload: "x/y", priority: 0, holds: "3", evicting: true };
  assert.equal(victimWords(seen, "cpu"), "3 cpu of b, priority 0, leaving already");
});

const WAITS: WaitingWorkload = {
  workload: "x/y",
  localQueue: "main",
  priority: 1,
  created: null,
  outcome: "Preempt",
  notModelled: [],
  message: "$& {victims}",
  victims: ["x/z", ""],
  podSets: [{ name: "main", count: 2, askedCount: 4 }],
};

test("what becomes of a Workload is said as the command says it", () => {
  assert.equal(
    outcomeWords(WAITS),
    "it preempts x/z, a Workload of another namespace (partial admission: 2 of its 4 pods)",
  );
  assert.equal(outcomeWords({ ...WAITS, outcome: "NoFit", podSets: [] }), "no room. $& {victims}");
  assert.equal(
    outcomeWords({ ...WAITS, outcome: "Inadmissible", message: "It is stopped", podSets: [], notModelled: ["x"] }),
    "It is not known. Not modelled: x. By what is modelled: It is stopped",
  );
});

test("Workloads that one may not see are counted", () => {
  const answer = { clusterQueue: "a", localQueue: null, waiting: [WAITS] };
  assert.deepEqual(countWords(answer), ["1 waiting"]);
  assert.deepEqual(countWords({ ...answer, reservingWorkloads: 1, admittedWorkloads: 0, othersWaiting: 2 }), [
    "1 Workload with quota",
    "0 admitted",
    "3 waiting",
    "2 of them in namespaces that you may not see",
  ]);
});

test("the picture has each line, and no sign of a name is markup", () => {
  const hostile = node('<img src=x onerror="a()">&\u202e', 0, { quota: [account({ flavor: "</svg>" })] });
  const picture = pictureOf({ trees: [TREE, [hostile]], reclaims: [] }, "");
  assert.equal(picture.split("<g ").length - 1, 5);
  assert.ok(!picture.includes("<img") && !picture.includes("\u202e"));
  assert.equal(picture.split("</svg>").length, 2);
});
