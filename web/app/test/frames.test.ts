/** The cases are made by tests/unit/answers/test_map_frames.py. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { answerOf, modelOf, natural } from "../src/map/columns.ts";
import { applied, fits, fitted } from "../src/map/frames.ts";
import { changedNames } from "../src/map/model.ts";
import type { Frame, Map as NodeMap } from "../src/wire.ts";

interface Case {
  readonly before: NodeMap;
  readonly frame: Frame;
  readonly after: NodeMap;
}

const CASES = JSON.parse(readFileSync(new URL("frames.json", import.meta.url), "utf8")) as readonly Case[];

function after(map: NodeMap, ...frames: Frame[]): NodeMap {
  return answerOf(applied(modelOf(map), frames));
}

test("a frame makes the map of before the map that the server answers", () => {
  assert.ok(CASES.length > 5);
  assert.ok(CASES.some(({ frame }) => (frame.plans?.order.length ?? 0) > 0));
  assert.ok(CASES.some(({ frame }) => frame.gone.length > 0));
  for (const each of CASES) {
    assert.deepEqual(after(each.before, each.frame), each.after);
    assert.deepEqual(after(each.after, each.frame), each.after);
    assert.deepEqual(answerOf(modelOf(each.after)), each.after);
  }
});

test("a node that is as before is the same object, and is not drawn again", () => {
  for (const { before, frame } of CASES) {
    const first = modelOf(before);
    const second = applied(first, [frame]);
    const said = new Set(frame.nodes.name);
    for (const node of second.stock.nodes) if (!said.has(node.name)) assert.ok(first.stock.nodes.includes(node));
    const [third, changed] = [applied(second, [frame]), changedNames(first, second)];
    assert.deepEqual(changedNames(second, third), new Set());
    for (const name of changed ?? []) assert.ok(said.has(name));
    assert.equal(changed === null, first.stock.places !== second.stock.places);
    assert.equal(changedNames(modelOf(before), second), null);
  }
});

test("a model from which another one is made stays as it is", () => {
  for (const { before, frame } of CASES) {
    const first = modelOf(before);
    applied(first, [frame]);
    assert.deepEqual(answerOf(first), before);
  }
});

test("a frame fits a map that lacks it, and none before it", () => {
  const frame = { since: "p-7-r", version: "p-9-r" };
  for (const version of ["p-7-r", "p-8-r"]) assert.equal(fits(version, frame), "yes");
  for (const version of ["p-9-r", "p-10-r"]) assert.equal(fits(version, frame), "old");
  for (const version of ["p-6-r", "q-8-r", "p-8-s"]) assert.equal(fits(version, frame), "gap");
});

test("frames are put in up to the first gap, and what the map has is passed over", () => {
  const [{ before, frame }] = CASES as [Case];
  const step = (since: number, version: number): Frame => ({
    ...frame,
    since: `p-${since}-r`,
    version: `p-${version}-r`,
    moment: `${version}`,
  });
  const map = modelOf({ ...before, version: "p-4-r" });
  const frames = [step(2, 4), step(4, 5), step(5, 7), step(8, 9), step(7, 8)];
  const { model, hasGap } = fitted(map, frames);
  assert.deepEqual([model.head.version, model.head.moment, hasGap], ["p-7-r", "7", true]);
  assert.equal(fitted(map, [step(2, 4)]).model, map);
  assert.equal(fitted(map, frames.slice(0, 3)).hasGap, false);
});

test("nodes stand in the order of the server", () => {
  const names = ["a", "a-2", "a-10", "a-010b", "b1", "b01", "b"];
  const sorted = [...names].sort(natural);
  assert.deepEqual(sorted, ["a", "a-2", "a-10", "a-010b", "b", "b01", "b1"]);
});
