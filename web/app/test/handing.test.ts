import assert from "node:assert/strict";
import { test } from "node:test";
import { type Channel, Handing } from "../src/handing.ts";

function store(): Storage {
  const kept = new Map<string, string>();
  return {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  } as Storage;
}

/** Channels of several tabs: each hears what the others say. */
function tabs(count: number): Channel[] {
  const all: Channel[] = Array.from({ length: count }, () => ({ onmessage: null, postMessage: () => undefined }));
  for (const one of all) {
    one.postMessage = (data) => {
      for (const other of all) if (other !== one) other.onmessage?.({ data } as MessageEvent);
    };
  }
  return all;
}

test("without another tab there is no session", async () => {
  const [only] = tabs(1);
  assert.ok(only);
  const mine = new Handing(store(), only);
  assert.equal(await mine.find(), "");
  assert.equal(mine.session, "");
});

test("a new tab gets the session of another one, and keeps it", async () => {
  const [first, second, third] = tabs(3);
  assert.ok(first && second && third);
  const old = new Handing(store(), first);
  old.keep("s");
  new Handing(store(), third);
  const mine = new Handing(store(), second);
  assert.equal(await mine.find(), "s");
  assert.equal(mine.session, "s");
  mine.drop();
  assert.equal(mine.session, "");
  assert.equal(old.session, "s");
});

test("a session that nobody has asked for is not taken", () => {
  const [first, second] = tabs(2);
  assert.ok(first && second);
  const mine = new Handing(store(), first);
  second.postMessage({ kind: "session", session: "of somebody" });
  assert.equal(mine.session, "");
});
