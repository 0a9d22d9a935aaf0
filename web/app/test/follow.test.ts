import assert from "node:assert/strict";
import { test } from "node:test";
import { backoff, follow } from "../src/follow.ts";
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

test("a stream that is cut is said to be lost within five seconds, and is asked for again", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const asked: AbortSignal[] = [];
  const heartbeat = new TextEncoder().encode(":\n\n");
  let beat: () => void = () => undefined;
  Object.assign(globalThis, { window: new EventTarget() });
  t.mock.method(globalThis, "fetch", async (_: string, { signal }: { signal: AbortSignal }) => {
    asked.push(signal);
    const body = new ReadableStream<Uint8Array>({
      start: (stream) => {
        beat = () => stream.enqueue(heartbeat);
        signal.addEventListener("abort", () => stream.error(signal.reason));
      },
    });
    return new Response(body);
  });
  const said: string[] = [];
  const follower = {
    frame: () => 0,
    reset: () => 0,
    changed: () => said.push("changed"),
    open: () => said.push("open"),
    lost: (_: number, wasSilent: boolean) => said.push(wasSilent ? "silent" : "lost"),
    ended: () => said.push("ended"),
  };
  const end = new AbortController();
  const followed = follow("events", "", follower, end.signal);
  await settled();
  for (let second = 0; second < 20; second += 2) {
    beat();
    await settled();
    t.mock.timers.tick(2000);
    await settled();
  }
  assert.deepEqual(said, ["open"]);
  t.mock.timers.tick(3000);
  await settled();
  assert.deepEqual(said, ["open", "silent"]);
  assert.equal(asked[0]?.aborted, true);
  t.mock.timers.tick(1000);
  await settled();
  assert.deepEqual(said, ["open", "silent", "open"]);
  end.abort();
  await followed;
});

/** Until nothing goes on that needs no time. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}
