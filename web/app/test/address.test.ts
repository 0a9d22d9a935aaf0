import assert from "node:assert/strict";
import { test } from "node:test";
import {
  answerAddress,
  evictedAddress,
  foundAddress,
  halves,
  historyAddress,
  kindOf,
  mapAddress,
  NO_FILTERS,
  namespaceQuery,
  namespacesOf,
  planAddress,
  plansAddress,
  queueAddress,
  queuesAddress,
  readRoute,
  takeCode,
  USUAL_MAP,
  waitingAddress,
} from "../src/address.ts";

const HOSTILE = [
  "a/b",
  "a?b=c",
  "a#b",
  "%",
  "%2f",
  "<script>",
  "javascript:alert(1)",
  "\u202e",
  "__proto__",
  "é 字",
  "a&b",
];

test("no address, and the one of Waiting, mean everything that waits", () => {
  for (const hash of ["", "#", "#/", "#/waiting"]) {
    assert.deepEqual(readRoute(hash), { view: "waiting", filters: NO_FILTERS });
  }
});

test("the address of an answer leads back to its object, whatever its name is", () => {
  for (const name of HOSTILE) {
    for (const kind of ["podgroup", "pod", "job", "workload"] as const) {
      const address = answerAddress(kind, name, `${name}2`);
      assert.deepEqual(readRoute(address), { view: "answer", kind, namespace: name, name: `${name}2` });
      assert.ok(address.startsWith("#/"));
    }
  }
});

test("a gang has the address that people expect", () => {
  assert.equal(answerAddress("podgroup", "research", "train"), "#/gang/research/train");
});

test("what the map shows is in the address, and comes back from it", () => {
  for (const text of HOSTILE) {
    const choice = { topologyKey: text, resource: text, gang: `${text}/${text}`, node: text, isTable: true };
    assert.deepEqual(readRoute(mapAddress(choice)), { view: "map", choice });
  }
  assert.equal(mapAddress(), "#/map");
  assert.deepEqual(readRoute("#/map"), { view: "map", choice: USUAL_MAP });
});

test("filters are in the address, and come back from it", () => {
  for (const text of HOSTILE) {
    const filters = { kind: "groups", namespace: text, state: "Preempts", text };
    assert.deepEqual(readRoute(waitingAddress(filters)), { view: "waiting", filters });
  }
  assert.equal(waitingAddress(), "#/waiting");
});

test("plans and evictions have addresses that lead back to them", () => {
  for (const text of HOSTILE) {
    const filters = { standing: "Over", namespace: text, plane: "Quota", text };
    assert.deepEqual(readRoute(plansAddress(filters)), { view: "plans", filters });
    assert.deepEqual(readRoute(planAddress(text, "x")), { view: "plan", namespace: text, name: "x" });
    assert.deepEqual(readRoute(evictedAddress("x", text)), { view: "evicted", namespace: "x", name: text });
  }
  for (const by of ["namespace", "rule", "vain"] as const) {
    assert.deepEqual(readRoute(historyAddress(by)), { view: "history", by });
  }
  assert.equal(plansAddress(), "#/plans");
  assert.deepEqual(readRoute("#/history?by=nothing"), { view: "history", by: "namespace" });
});

test("an address that means nothing is said to be unknown", () => {
  for (const hash of [
    "#/plans/a",
    "#/plan/a",
    "#/plan/a/",
    "#/evicted/a/b/c",
    "#/gang/a",
    "#/gang/a/b/c",
    "#/gang//b",
    "#/gang/%zz/b",
    "#/__proto__/a/b",
  ]) {
    assert.deepEqual(readRoute(hash), { view: "unknown", address: hash });
  }
});

test("namespaces before the # are read and written", () => {
  assert.deepEqual(namespacesOf("?namespace=a,%20b,,c"), ["a", "b", "c"]);
  assert.deepEqual(namespacesOf(""), []);
  assert.equal(namespaceQuery(["a", "b&c"]), "?namespace=a,b%26c");
  assert.equal(namespaceQuery([]), "");
});

test("what is found has a view", () => {
  assert.equal(foundAddress("pod", "research", "a b"), "#/pod/research/a%20b");
  assert.equal(foundAddress("clusterqueue", "", "research"), "#/queue/research");
  assert.equal(foundAddress("localqueue", "research", "main"), "#/queue/research/main");
  assert.equal(foundAddress("preemptionplan", "research", "train-1"), "#/plan/research/train-1");
  assert.equal(foundAddress("dispatchplan", "research", "tune-1"), "#/plan/research/tune-1");
  assert.equal(foundAddress("node", "", "gpu a"), "#/map?node=gpu+a");
});

test("only the first slash parts a namespace from a name", () => {
  assert.deepEqual(halves("a/b/c", "/"), ["a", "b/c"]);
  assert.deepEqual(halves("a", "/"), ["a", ""]);
});

test("kinds are as in addresses and commands", () => {
  assert.deepEqual(["Pod", "PodGroup", "Job", "Workload"].map(kindOf), ["pod", "podgroup", "job", "workload"]);
});

test("a code is taken out of the address and out of the history", () => {
  const written: string[] = [];
  const past = { replaceState: (_data: unknown, _unused: string, url: string) => void written.push(url) };
  const where = { hash: "#code=s3cret", pathname: "/prefix/", search: "?namespace=a" };
  assert.equal(takeCode(where, past), "s3cret");
  assert.deepEqual(written, ["/prefix/?namespace=a#/waiting"]);
  assert.equal(takeCode({ ...where, hash: "#/waiting" }, past), "");
  assert.equal(written.length, 1);
});

test("the address of a queue leads back to it, whatever its name is", () => {
  for (const name of HOSTILE) {
    assert.deepEqual(readRoute(queueAddress("", name)), { view: "queue", namespace: "", name });
    assert.deepEqual(readRoute(queueAddress(name, "main")), { view: "queue", namespace: name, name: "main" });
    assert.deepEqual(readRoute(queuesAddress(name)), { view: "queues", pair: name });
  }
  assert.equal(queueAddress("team-a", "main"), "#/queue/team-a/main");
  assert.equal(queuesAddress(), "#/queues");
  for (const hash of ["#/queue", "#/queue/", "#/queue//main", "#/queue/a/", "#/queue/a/b/c", "#/queue/%"]) {
    assert.equal(readRoute(hash).view, "unknown", hash);
  }
});
