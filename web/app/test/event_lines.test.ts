import assert from "node:assert/strict";
import { test } from "node:test";
import { EventLines, type StreamEvent } from "../src/event_lines.ts";

const STREAM = ":\n\nevent: waiting\nid: 7\ndata: {\ndata: }\n\nevent: reset\n\ndata:x\n\n";
const EVENTS: StreamEvent[] = [
  { event: "waiting", id: "7", data: "{\n}" },
  { event: "message", id: "7", data: "x" },
];

test("events are read, however the stream is cut", () => {
  for (let size = 1; size <= STREAM.length; size++) {
    const lines = new EventLines();
    const found: StreamEvent[] = [];
    for (let at = 0; at < STREAM.length; at += size) found.push(...lines.push(STREAM.slice(at, at + size)));
    assert.deepEqual(found, EVENTS, `pieces of ${size}`);
  }
});

test("all ends of lines are known", () => {
  for (const end of ["\n", "\r\n", "\r"]) {
    const lines = new EventLines();
    const found = [...lines.push(`data: a${end}${end}data: b${end}${end}`), ...lines.push(`:${end}`)];
    assert.deepEqual(
      found.map((each) => each.data),
      ["a", "b"],
    );
  }
});
