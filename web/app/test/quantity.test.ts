import assert from "node:assert/strict";
import { test } from "node:test";
import { amountOf } from "../src/quantity.ts";

test("a quantity is its amount", () => {
  const amounts: readonly (readonly [string, number])[] = [
    ["0", 0],
    ["10", 10],
    ["1500m", 1.5],
    ["2Ki", 2048],
    ["16Gi", 16 * 2 ** 30],
    ["3k", 3000],
    ["1E", 1e18],
    ["1e3", 1000],
    ["0.5", 0.5],
  ];
  for (const [text, amount] of amounts) assert.equal(amountOf(text), amount, text);
});

test("what is unlimited has no end, and what is no quantity is nothing", () => {
  assert.equal(amountOf("unlimited"), Number.POSITIVE_INFINITY);
  for (const text of ["", "much", "1x", "__proto__"]) assert.equal(amountOf(text), 0);
});
