import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_FILTERS } from "../src/address.ts";
import { counts, detailsOf, grouped, itemsOf, sectionsOf } from "../src/waiting.ts";
import type { Row, Waiting } from "../src/wire.ts";

function row(part: Partial<Row>): Row {
  return {
    kind: "podgroup",
    namespace: "research",
    name: "train",
    place: null,
    state: "Gathering",
    sentence: "It waits for members: 2 of 4 exist.",
    since: "",
    priority: null,
    minCount: null,
    members: null,
    bound: null,
    plan: "",
    queue: "",
    ...part,
  };
}

const WAITING: Waiting = {
  version: "1",
  moment: "2026-03-01T12:00:00Z",
  trouble: "",
  groups: [row({ name: "train" }), row({ name: "tune", namespace: "__proto__", state: "Preempts" })],
  pods: [row({ kind: "pod", name: "notebook", state: "Rejected" })],
  workloads: [],
  missing: [],
};

function names(part: Partial<typeof NO_FILTERS>): string[] {
  return sectionsOf(WAITING, { ...NO_FILTERS, ...part }).flatMap((section) => section.rows.map((each) => each.name));
}

test("filters narrow the list", () => {
  assert.deepEqual(names({}), ["train", "tune", "notebook"]);
  assert.deepEqual(names({ kind: "pods" }), ["notebook"]);
  assert.deepEqual(names({ namespace: "__proto__" }), ["tune"]);
  assert.deepEqual(names({ state: "Rejected" }), ["notebook"]);
  assert.deepEqual(names({ text: "RESEARCH/tr" }), ["train"]);
  assert.deepEqual(names({ text: "members notebook" }), ["notebook"]);
  assert.deepEqual(names({ text: "nothing like it" }), []);
});

test("a section has a heading if it has rows without filters", () => {
  const items = itemsOf(sectionsOf(WAITING, { ...NO_FILTERS, state: "Rejected" }));
  const said = items.map((item) => ("row" in item ? item.row.name : `${item.section.id} ${item.section.of}`));
  assert.deepEqual(said, ["groups 2", "pods 1", "notebook"]);
});

test("values are counted, whatever they are", () => {
  const found = counts(WAITING, (each) => each.namespace);
  assert.deepEqual(
    [...found],
    [
      ["__proto__", 1],
      ["research", 2],
    ],
  );
});

test("a row says what is known of it", () => {
  assert.deepEqual(detailsOf(row({})), []);
  const known = row({ priority: 0, bound: 0, members: 2, minCount: 4, queue: "gpus" });
  assert.deepEqual(detailsOf(known), ["priority 0", "0 of 2 members have a node, minCount 4", "queue gpus"]);
});

test("large numbers are easy to read", () => {
  assert.equal(grouped(10000), "10,000");
});
