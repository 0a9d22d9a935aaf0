import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Refusal } from "../src/client.ts";
import { Loader } from "../src/loader.ts";

function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function refusal(status: number, retryAfter = 0): Refusal {
  return new Refusal(status, { reason: "Test", message: "no", right: "" }, retryAfter);
}

test("many changes are one question, and the next one waits", async (context) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  context.after(() => mock.timers.reset());
  let asked = 0;
  const loader = new Loader(async () => ++asked, 1000);
  for (let change = 0; change < 5; change++) loader.refresh();
  await settle();
  assert.deepEqual([asked, loader.answer.value], [1, 1]);
  mock.timers.tick(999);
  await settle();
  assert.equal(asked, 1);
  mock.timers.tick(1);
  await settle();
  assert.deepEqual([asked, loader.answer.value], [2, 2]);
  mock.timers.tick(5000);
  await settle();
  assert.equal(asked, 2);
});

test("what has come since an answer was asked for is part of it", async () => {
  const late: string[] = [];
  const loader = new Loader(
    async () => "answer",
    10,
    (answer) => [answer, ...late].join(),
  );
  loader.refresh();
  loader.refresh();
  // After the question, and before the answer is shown.
  late.push("late");
  await settle();
  loader.stop();
  assert.equal(loader.answer.value, "answer,late");
});

test("an older answer stays if the server fails, and goes if one may not see it", async (context) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  context.after(() => mock.timers.reset());
  const answers: (string | Refusal)[] = ["first", refusal(503), refusal(403), "again"];
  const loader = new Loader(async () => {
    const next = answers.shift();
    if (next instanceof Refusal) throw next;
    return next;
  }, 10);
  const seen: unknown[] = [];
  for (let round = 0; round < 4; round++) {
    loader.refresh();
    await settle();
    seen.push([loader.answer.value, loader.refusal.value?.status]);
    mock.timers.tick(10);
  }
  assert.deepEqual(seen, [
    ["first", undefined],
    ["first", 503],
    [null, 403],
    ["again", undefined],
  ]);
});

test("too many questions are asked again when the server says", async (context) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  context.after(() => mock.timers.reset());
  let asked = 0;
  const loader = new Loader(async () => {
    asked++;
    if (asked === 1) throw refusal(429, 7);
    return "answer";
  }, 1000);
  loader.refresh();
  await settle();
  mock.timers.tick(6999);
  await settle();
  assert.equal(asked, 1);
  mock.timers.tick(1);
  await settle();
  assert.equal(loader.answer.value, "answer");
});

test("a server that has no answer yet is asked again when it says", async (context) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  context.after(() => mock.timers.reset());
  let asked = 0;
  const loader = new Loader(async () => {
    asked++;
    if (asked === 1) throw refusal(503, 2);
    return "answer";
  }, 100);
  loader.refresh();
  await settle();
  mock.timers.tick(2000);
  await settle();
  assert.deepEqual([asked, loader.answer.value, loader.refusal.value], [2, "answer", null]);
});

test("one that has been stopped says nothing any longer", async () => {
  let resolve: (value: string) => void = () => undefined;
  const loader = new Loader(() => new Promise<string>((done) => (resolve = done)), 1);
  loader.refresh();
  loader.stop();
  resolve("late");
  await settle();
  assert.equal(loader.answer.value, null);
});

test("one that is held does not ask soon, and asks again when it is refreshed", async (context) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  context.after(() => mock.timers.reset());
  let asked = 0;
  const loader = new Loader(async () => ++asked, 1000);
  loader.refresh();
  await settle();
  assert.equal(loader.hold(), false);
  loader.refresh();
  assert.equal(loader.hold(), true);
  mock.timers.tick(5000);
  await settle();
  assert.equal(asked, 1);
  loader.refresh();
  await settle();
  assert.equal(asked, 2);
});
