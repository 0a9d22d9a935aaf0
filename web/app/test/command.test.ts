import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { quoted, whyCommand } from "../src/command.ts";

test("the command is the one that a person would type", () => {
  assert.equal(whyCommand("podgroup", "research", "train", ""), "reprieve why podgroup research/train");
  assert.equal(whyCommand("pod", "a", "b", "--context staging"), "reprieve why pod --context staging a/b");
});

test("a name that begins with a hyphen is no option", () => {
  assert.equal(whyCommand("pod", "-a", "b", ""), "reprieve why pod -- -a/b");
});

test("a shell gets any name as one word, and runs nothing in it", () => {
  const names = [
    "a b",
    "it's",
    "$(touch /tmp/x)",
    "`id`",
    ";id",
    "a\nb",
    "\u202e\u001b[31m'\\",
    "é字",
    "*",
    "~",
    "-n",
    "",
    "a=b",
    "!!",
  ];
  for (const name of names) {
    const printed = execFileSync("bash", ["-c", `printf %s ${quoted(name)}`], { encoding: "utf8" });
    assert.equal(printed, name);
  }
});
