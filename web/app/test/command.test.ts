import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import {
  evictedCommand,
  nodeCommand,
  PLANS,
  planCommand,
  queueCommand,
  quoted,
  storedCommand,
  whyCommand,
} from "../src/command.ts";

test("the command is the one that a person would type", () => {
  assert.equal(whyCommand("podgroup", "research", "train", ""), "reprieve why podgroup research/train");
  assert.equal(whyCommand("pod", "a", "b", "--context staging"), "reprieve why pod --context staging a/b");
});

test("the command for who evicted an object has no kind", () => {
  assert.equal(evictedCommand("a", "b c", "-f x"), "reprieve who-evicted -f x 'a/b c'");
  assert.equal(evictedCommand("a", "b", "-f x --now 2026-03-01T12:00:00Z"), "reprieve who-evicted -f x a/b");
  assert.equal(evictedCommand("-a", "b", ""), "reprieve who-evicted -- -a/b");
});

test("kubectl prints the stored objects, where the reader may list them", () => {
  const scope = { live: true, reads: "--context staging", namespaces: { all: true, named: [], asked: [] } };
  const kinds = "preemptionplans.reprieve.dev,dispatchplans.reprieve.dev";
  assert.equal(storedCommand(PLANS, scope), `kubectl get ${kinds} --context staging -A -o json`);
  const tenant = { live: true, reads: "", namespaces: { all: false, named: ["a", "b"], asked: ["a", "b", "c"] } };
  assert.equal(storedCommand(PLANS, tenant), `kubectl get ${kinds} -n a -o json && kubectl get ${kinds} -n b -o json`);
  assert.equal(
    planCommand("PreemptionPlan", "a", "train-1", tenant),
    "kubectl get preemptionplans.reprieve.dev -n a -o json train-1",
  );
  assert.equal(nodeCommand("gpu-a1", scope), "kubectl describe node --context staging gpu-a1");
});

test("of files there is nothing that kubectl prints", () => {
  const scope = { live: false, reads: "-f x", namespaces: { all: true, named: [], asked: [] } };
  assert.equal(storedCommand(PLANS, scope), "");
  assert.equal(planCommand("PreemptionPlan", "a", "b", scope), "");
  assert.equal(nodeCommand("n", scope), "");
  assert.equal(storedCommand(PLANS, null), "");
});

test("a name that begins with a hyphen is no option", () => {
  assert.equal(whyCommand("pod", "-a", "b", ""), "reprieve why pod -- -a/b");
});

test("a shell gets any name as one word, and runs nothing in it", () => {
  const names = [
    "a b",
    "it's",
    "$(touch /tmp/x)",
    "`id`",
    ";id",
    "a\nb",
    "\u202e\u001b[31m'\\",
    "é字",
    "*",
    "~",
    "-n",
    "",
    "a=b",
    "!!",
  ];
  for (const name of names) {
    const printed = execFileSync("bash", ["-c", `printf %s ${quoted(name)}`], { encoding: "utf8" });
    assert.equal(printed, name);
  }
});

test("the command about queues takes no option about owners", () => {
  assert.equal(queueCommand("", "", "--context staging"), "reprieve queue --context staging");
  assert.equal(
    queueCommand("", "main", "-f x.yaml --now 2026-03-01T12:00:00Z --groups-by-owner Always"),
    "reprieve queue -f x.yaml --now 2026-03-01T12:00:00Z main",
  );
  assert.equal(queueCommand("team-a", "main", "--groups-by-owner Off"), "reprieve queue team-a/main");
  assert.equal(queueCommand("", "-x", ""), "reprieve queue -- -x");
  const file = "-f 'a --groups-by-owner b.yaml'";
  assert.equal(queueCommand("", "", file), `reprieve queue ${file}`);
});
