import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { effect, signal } from "@preact/signals";
import { atFrame, notAtFrame } from "../src/at_frame.ts";
import { calmed } from "../src/calm.ts";

test("of many changes the last one arrives, a short time later", (context) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  context.after(() => mock.timers.reset());
  const source = signal<number | null>(null);
  const { value, stop } = calmed(source, 250);
  const told: (number | null)[] = [];
  const end = effect(() => {
    told.push(value.value);
  });
  for (let change = 1; change <= 5; change++) source.value = change;
  assert.deepEqual(told, [null, 1]);
  mock.timers.tick(249);
  source.value = 6;
  assert.deepEqual(told, [null, 1]);
  mock.timers.tick(1);
  assert.deepEqual(told, [null, 1, 6]);
  source.value = 7;
  source.value = null;
  assert.deepEqual(told, [null, 1, 6, null]);
  mock.timers.tick(1000);
  assert.deepEqual(told, [null, 1, 6, null]);
  source.value = 8;
  stop();
  source.value = 9;
  mock.timers.tick(1000);
  assert.deepEqual(told, [null, 1, 6, null, 8]);
  end();
});

/** The frames of a browser: `draw` is the next one. */
function frames() {
  const asked: (() => void)[] = [];
  Object.assign(globalThis, { requestAnimationFrame: (act: () => void) => asked.push(act) });
  const draw = (): void => {
    for (const act of asked.splice(0)) act();
  };
  return { asked, draw };
}

test("what is asked for several times is done once, and what it asks for comes in the same frame", () => {
  const { asked, draw } = frames();
  const done: string[] = [];
  const paint = (): void => {
    done.push("paint");
    if (done.length < 4) atFrame(paint);
  };
  const put = (): void => {
    done.push("put");
    atFrame(paint);
  };
  for (let frame = 0; frame < 3; frame++) atFrame(put);
  assert.equal(asked.length, 1);
  draw();
  assert.deepEqual(done, ["put", "paint"]);
  draw();
  draw();
  assert.deepEqual(done, ["put", "paint", "paint", "paint"]);
  assert.equal(asked.length, 0);
  atFrame(put);
  notAtFrame(put);
  draw();
  assert.equal(done.length, 4);
});

test("one that fails does not stop the others for ever", () => {
  const { draw } = frames();
  const done: string[] = [];
  atFrame(() => {
    throw new Error("no");
  });
  atFrame(() => done.push("other"));
  assert.throws(draw);
  draw();
  assert.deepEqual(done, ["other"]);
});
