/** The cases are made by tests/unit/answers/test_map_frames.py. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { applied, changedNames, fits, natural } from "../src/map/frames.ts";
import { differing, Model } from "../src/map/model.ts";
import type { Frame, Map as NodeMap } from "../src/wire.ts";

interface Case {
  readonly before: NodeMap;
  readonly frame: Frame;
  readonly after: NodeMap;
}

const CASES = JSON.parse(readFileSync(new URL("frames.json", import.meta.url), "utf8")) as readonly Case[];

test("a frame makes the map of before the map that the server answers", () => {
  assert.ok(CASES.length > 5);
  assert.ok(CASES.some(({ frame }) => (frame.plans?.order.length ?? 0) > 0));
  assert.ok(CASES.some(({ frame }) => frame.gone.length > 0));
  for (const { before, frame, after } of CASES) {
    assert.deepEqual(applied(before, frame), after);
    assert.deepEqual(applied(after, frame), after);
  }
});

test("what differs are nodes of the frame", () => {
  for (const { before, frame, after } of CASES) {
    const said = new Set(frame.nodes.name);
    for (const name of differing(new Model(before), new Model(after))) assert.ok(said.has(name));
  }
});

test("nodes that are as before are not drawn again", () => {
  for (const { before, frame } of CASES) {
    const [first, second] = [applied(before, frame), applied(applied(before, frame), frame)];
    const found = changedNames(first, applied(first, frame));
    assert.deepEqual(
      [...(found ?? [])].sort(),
      frame.nodes.name.filter((each) => first.nodes.name.includes(each)).sort(),
    );
    assert.deepEqual(second, first);
    assert.equal(changedNames(before, first), null);
  }
});

test("a frame fits a map that lacks it, and none before it", () => {
  const frame = { since: "p-7-r", version: "p-9-r" };
  for (const version of ["p-7-r", "p-8-r"]) assert.equal(fits(version, frame), "yes");
  for (const version of ["p-9-r", "p-10-r"]) assert.equal(fits(version, frame), "old");
  for (const version of ["p-6-r", "q-8-r", "p-8-s"]) assert.equal(fits(version, frame), "gap");
});

test("nodes stand in the order of the server", () => {
  const names = ["a", "a-2", "a-10", "a-010b", "b1", "b01", "b"];
  const sorted = [...names].sort(natural);
  assert.deepEqual(sorted, ["a", "a-2", "a-10", "a-010b", "b", "b01", "b1"]);
});
