import assert from "node:assert/strict";
import { test } from "node:test";
import { camelParts, printable, printableJson } from "../src/printable.ts";

test("what cannot be printed is escaped as Python writes it", () => {
  const cases: [string, string][] = [
    ["plain text", "plain text"],
    ["é字🙂", "é字🙂"],
    ["\u001b[31m", "\\x1b[31m"],
    ["a\nb\tc\rd", "a\\nb\\tc\\rd"],
    ["\u0000\u007f\u009f", "\\x00\\x7f\\x9f"],
    ["\u202eabc\u2066", "\\u202eabc\\u2066"],
    ["\u200b\u00a0\u2028", "\\u200b\\xa0\\u2028"],
    ["\u{e0001}", "\\U000e0001"],
    ["\ud800", "\\ud800"],
    ["<b>&\\", "<b>&\\"],
  ];
  for (const [text, shown] of cases) assert.equal(printable(text), shown);
});

test("JSON for a file has the same values", () => {
  const value = { ["__proto__"]: "\u202e\u0000\n", list: ["</script>", "\u{e0001}"] };
  const text = printableJson(value);
  assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)));
  assert.equal(printable(text.replaceAll("\n", "")), text.replaceAll("\n", ""));
});

test("words in CamelCase have parts", () => {
  assert.deepEqual(camelParts("WaitingForPreemptedWorkloads"), ["Waiting", "For", "Preempted", "Workloads"]);
  assert.deepEqual(camelParts("minCount"), ["min", "Count"]);
  assert.deepEqual(camelParts(""), [""]);
});
