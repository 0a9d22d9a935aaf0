import assert from "node:assert/strict";
import { test } from "node:test";
import { age, utc } from "../src/times.ts";

test("an age has at most two units", () => {
  const cases: [string, string][] = [
    ["2026-03-01T12:00:00Z", "now"],
    ["2026-03-01T11:59:59Z", "1 s"],
    ["2026-03-01T11:58:30Z", "1 min 30 s"],
    ["2026-03-01T09:00:05Z", "2 h 59 min"],
    ["2026-02-27T12:00:00Z", "2 d"],
    ["2026-03-01T13:00:00Z", "now"],
    ["no time", ""],
    ["", ""],
  ];
  for (const [since, said] of cases) assert.equal(age(since, "2026-03-01T12:00:00Z"), said, since);
});

test("a time is shown in UTC", () => {
  assert.equal(utc("2026-03-01T12:00:00+02:00"), "2026-03-01 10:00:00 UTC");
  assert.equal(utc("no time"), "no time");
});
