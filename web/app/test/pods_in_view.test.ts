import assert from "node:assert/strict";
import { test } from "node:test";
import { oldest } from "../src/map/in_view.ts";

test("each node has its turn, however fast versions come", () => {
  const names = ["a", "b", "c"];
  const versions = new Map<string, string>();
  const turns: (string | undefined)[] = [];
  for (let version = 1; version <= 6; version++) {
    const name = oldest(names, versions, String(version));
    turns.push(name);
    versions.delete(name ?? "");
    versions.set(name ?? "", String(version));
  }
  assert.deepEqual(turns, ["a", "b", "c", "a", "b", "c"]);
});

test("who was asked about at this version is not asked about again", () => {
  assert.equal(oldest(["a"], new Map([["a", "v"]]), "v"), undefined);
  assert.equal(oldest(["a"], new Map([["b", "u"]]), "v"), "a");
});
