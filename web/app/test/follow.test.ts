import assert from "node:assert/strict";
import { test } from "node:test";
import { backoff } from "../src/follow.ts";
import { withKept } from "../src/ui/virtual.ts";

test("attempts get rarer, and never rarer than half a minute", () => {
  const waits = [1, 2, 3, 4, 5, 6, 50].map((failed) => backoff(failed, 1));
  assert.deepEqual(waits, [1000, 2000, 4000, 8000, 16000, 30000, 30000]);
  assert.equal(backoff(1, 0), 750);
});

test("the row with the focus stays in the document", () => {
  const range = { startIndex: 10, endIndex: 12, overscan: 1, count: 100 };
  assert.deepEqual(withKept(range, -1), [9, 10, 11, 12, 13]);
  assert.deepEqual(withKept(range, 2), [2, 9, 10, 11, 12, 13]);
  assert.deepEqual(withKept(range, 12), [9, 10, 11, 12, 13]);
  assert.deepEqual(withKept(range, 50), [9, 10, 11, 12, 13, 50]);
  assert.deepEqual(withKept(range, 100), [9, 10, 11, 12, 13]);
  assert.deepEqual(withKept({ startIndex: 0, endIndex: 0, overscan: 5, count: 0 }, -1), []);
});
