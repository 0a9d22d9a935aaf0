import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { evictedCommand, queueCommand, quoted, whyCommand } from "../src/command.ts";

test("the command is the one that a person would type", () => {
  assert.equal(whyCommand("podgroup", "research", "train", ""), "reprieve why podgroup research/train");
  assert.equal(whyCommand("pod", "a", "b", "--context staging"), "reprieve why pod --context staging a/b");
});

test("the command for who evicted an object has no kind", () => {
  assert.equal(evictedCommand("a", "b c", "-f x"), "reprieve who-evicted -f x 'a/b c'");
  assert.equal(evictedCommand("a", "b", "-f x --now 2026-03-01T12:00:00Z"), "reprieve who-evicted -f x a/b");
  assert.equal(evictedCommand("-a", "b", ""), "reprieve who-evicted -- -a/b");
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

test("the command about queues takes no option about owners", () => {
  assert.equal(queueCommand("", "", "--context staging"), "reprieve queue --context staging");
  assert.equal(
    queueCommand("", "main", "-f x.yaml --now 2026-03-01T12:00:00Z --groups-by-owner Always"),
    "reprieve queue -f x.yaml --now 2026-03-01T12:00:00Z main",
  );
  assert.equal(queueCommand("team-a", "main", "--groups-by-owner Off"), "reprieve queue team-a/main");
  assert.equal(queueCommand("", "-x", ""), "reprieve queue -- -x");
  const file = "-f 'a --groups-by-owner b.yaml'";
  assert.equal(queueCommand("", "", file), `reprieve queue ${file}`);
});
