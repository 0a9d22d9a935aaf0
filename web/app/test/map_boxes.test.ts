/** Nodes that change are drawn again alone: what is cleared for one of them belongs to no other. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { boxOf, clearedFor } from "../src/map/paint.ts";

const RATIOS = [0.5, 1, 1.25, 1.5, 2, 3];

function isWhole(value: number): boolean {
  return Math.abs(value - Math.round(value)) < 1e-6;
}

test("what is cleared are whole pixels, with all of the node and nothing of the next one", () => {
  let known = 0;
  for (const ratio of RATIOS) {
    for (let side = 1; side < 420; side *= 1.037) {
      for (let column = 0; column < 30; column++) {
        const [box, next] = [0, 1].map((more) => boxOf((column + more) * side, 0, side, ratio));
        const [cleared, other] = [box, next].map((each) => each && clearedFor(each, side, ratio));
        if (!box || !cleared || !other) continue;
        known++;
        for (const each of [cleared.x, cleared.x + cleared.width]) assert.ok(isWhole(each * ratio));
        assert.ok(cleared.x <= box.x + 1e-6 && cleared.x + cleared.width >= box.x + box.width - 1e-6);
        assert.ok(cleared.x + cleared.width <= other.x + 1e-6, `side ${side}, ratio ${ratio}`);
        assert.ok(box.width > 0);
      }
    }
  }
  assert.ok(known > 10_000);
});

test("a small node is made of whole pixels and stands apart from the next one", () => {
  for (const ratio of RATIOS) {
    for (let side = 4 / ratio; side < 19 / ratio; side += 0.13) {
      for (let column = 0; column < 30; column++) {
        const box = boxOf(column * side, column * side, side, ratio);
        const next = boxOf((column + 1) * side, 0, side, ratio);
        for (const each of [box.x, box.y, box.width, box.height]) assert.ok(isWhole(each * ratio));
        assert.ok((next.x - box.x - box.width) * ratio >= 1 - 1e-6);
        assert.ok(box.width >= side / 2);
      }
    }
  }
});

test("nodes of less than a few pixels are not drawn alone", () => {
  assert.equal(clearedFor(boxOf(0, 0, 3, 1), 3, 1), null);
});
