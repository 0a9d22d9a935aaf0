import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { changesOf, countOf, mostOf, summaryOf, whatIfCommand, whyNotSent } from "../src/what_if.ts";
import type { Step } from "../src/wire.ts";

function step(parts: Partial<Step> = {}): Step {
  return {
    kind: "Job",
    name: "a/b",
    outcome: "RunsAfterEvictions",
    sentence: "",
    pods: 2,
    running: 2,
    notModelled: [],
    quota: null,
    evicted: [],
    consequences: [],
    quotaConsequences: [],
    plan: {
      victims: [
        { kind: "Pod", namespace: "x", name: "y", pods: [{ namespace: "x", name: "y", node: "n2" }] },
        { kind: "Pod", namespace: "", name: "", pods: [{ node: "n1" }, {}] },
      ],
      placements: [
        { pod: "b-0", node: "n2", uid: "", beyondMinCount: false, anyNode: false },
        { pod: "b-1", node: "n2", uid: "", beyondMinCount: false, anyNode: false },
      ],
    },
    ...parts,
  };
}

test("nodes have the pods that would leave and come", () => {
  const changes = changesOf(step());
  assert.deepEqual(changes, [
    { node: "n1", leave: ["a pod of another namespace"], come: [] },
    { node: "n2", leave: ["x/y"], come: ["b-0", "b-1"] },
  ]);
  assert.equal(mostOf(changes), 2);
  assert.equal(mostOf([]), 1);
});

test("nothing changes for what waits", () => {
  assert.deepEqual(changesOf(step({ running: 0 })), []);
  assert.deepEqual(changesOf(step({ plan: null })), []);
});

test("the summary counts answers in which all pods get nodes", () => {
  const part = step({ outcome: "RunsInPart", running: 1 });
  assert.equal(summaryOf([]), "Nothing is submitted that needs room.");
  assert.equal(summaryOf([step()]), "All pods get nodes.");
  assert.equal(summaryOf([step(), step()]), "All pods get nodes.");
  assert.equal(summaryOf([part]), "Some pods get no node.");
  assert.equal(summaryOf([step({ outcome: "Waits", running: 0 })]), "No pod gets a node.");
  assert.equal(summaryOf([step({ outcome: "Unknown", running: 0 })]), "What happens is not known.");
  assert.equal(summaryOf([step(), part]), "All pods get nodes for 1 of 2 answers below.");
});

test("one pod and many pods are counted in a sentence each", () => {
  assert.equal(countOf(step({ running: 1 })), "1 of 2 pods get nodes");
  assert.equal(countOf(step({ pods: 1, running: 1 })), "its pod gets a node");
  assert.equal(countOf(step({ pods: 1, running: 0 })), "its pod gets no node");
});

test("what is empty or too large is not sent", () => {
  assert.equal(whyNotSent(" \n"), "Paste manifests first.");
  assert.equal(whyNotSent("kind: Job"), "");
  assert.match(whyNotSent("é".repeat(600_000)), /1200000 bytes/);
});

test("a shell gives the command the text as it is, and runs nothing in it", () => {
  const texts = [
    "kind: Job\n",
    "no end",
    "a: $(touch /tmp/x) `id` $HOME\n",
    "MANIFESTS\nMANIFESTS_\n",
    "it's: '\\\\'\n",
    "tab:\t\u001b[31m\u202e é\n",
  ];
  for (const text of texts) {
    const command = whatIfCommand(text, "-f x.yaml").replace("reprieve what-if - -n default -f x.yaml", "cat");
    const printed = execFileSync("bash", ["-c", command], { encoding: "utf8" });
    assert.equal(printed, text.endsWith("\n") ? text : `${text}\n`);
  }
});
