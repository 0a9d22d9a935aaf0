import assert from "node:assert/strict";
import { test } from "node:test";
import { factsOf } from "../src/facts.ts";
import type { Answer } from "../src/wire.ts";

function answer(numbers: Record<string, number | string>): Answer {
  return { name: "team-a/train", numbers } as unknown as Answer;
}

test("numbers have the words of the command, and zeros are left out but for some", () => {
  const numbers = { minCount: 4, members: 0, gatedPods: 0, localQueue: "gpus", path: "", cluster: "west" };
  assert.deepEqual(factsOf(answer(numbers)), [
    { name: "minCount", value: "4" },
    { name: "members exist", value: "0" },
    { name: "LocalQueue", value: "gpus", address: "#/queue/team-a/gpus" },
    { name: "cluster", value: "west" },
  ]);
});

test("a number may have any name", () => {
  const numbers = JSON.parse('{"__proto__": 3, "constructor": "x"}');
  assert.deepEqual(factsOf(answer(numbers)), [
    { name: "__proto__", value: "3" },
    { name: "constructor", value: "x" },
  ]);
});
