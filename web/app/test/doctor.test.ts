import assert from "node:assert/strict";
import { test } from "node:test";
import { readRoute } from "../src/address.ts";
import { headOf, levelsOf } from "../src/doctor.ts";
import type { Finding } from "../src/wire.ts";

function finding(level: Finding["level"], check: string, fault: string | null = null): Finding {
  return { check, level, message: "", fault, remedy: null, command: null };
}

test("the worst stands first, and the rest in the order of the answer", () => {
  const findings = [
    finding("OK", "one"),
    finding("Warning", "two", "PlansOld"),
    finding("Error", "three", "NotInstalled"),
    finding("Error", "four", "NobodyLeads"),
    finding("Note", "five"),
  ];
  const levels = levelsOf({ findings });
  assert.deepEqual(
    levels.map((level) => [level.name, level.findings.map((each) => each.check)]),
    [
      ["Error", ["three", "four"]],
      ["Warning", ["two"]],
      ["Note", ["five"]],
      ["OK", ["one"]],
    ],
  );
  assert.equal(headOf({ findings }), "3 faults");
});

test("a level without findings is not shown", () => {
  const findings = [finding("OK", "one")];
  assert.deepEqual(
    levelsOf({ findings }).map((level) => level.name),
    ["OK"],
  );
  assert.equal(headOf({ findings }), "All is well");
});

test("it has an address", () => {
  assert.deepEqual(readRoute("#/doctor"), { view: "doctor" });
});
