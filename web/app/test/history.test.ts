import assert from "node:assert/strict";
import { test } from "node:test";
import { chartOf, MOST_SERIES, seriesOf, ticks } from "../src/history.ts";
import { HEIGHT, historyPicture, pieces, WIDTH } from "../src/history_picture.ts";
import type { Eviction } from "../src/wire.ts";

const MOMENT = "2026-03-01T12:00:00Z";

function eviction(part: Partial<Eviction>): Eviction {
  return {
    time: "2026-03-01T11:00:00Z",
    plan: "research/train-1",
    preemptor: { kind: "PodGroup", name: "research/train" },
    namespace: "batch",
    rule: "Priority",
    units: 1,
    pods: 2,
    phase: "Bound",
    inVain: false,
    ...part,
  };
}

test("each span has its victims by series, and the largest series comes first", () => {
  const chart = chartOf(
    [
      eviction({ units: 1 }),
      eviction({ namespace: "team", units: 3, time: "2026-03-01T11:00:59Z" }),
      eviction({ namespace: "team", units: 2, time: "2026-03-01T11:50:00Z" }),
    ],
    "namespace",
    MOMENT,
  );
  assert.deepEqual(chart?.series, ["team", "batch"]);
  assert.deepEqual(chart?.spans[0]?.counts, [3, 1]);
  assert.equal(chart?.most, 4);
  assert.equal(
    chart?.spans.reduce((all, each) => all + each.total, 0),
    6,
  );
  assert.ok((chart?.spans.length ?? 0) <= 48);
  assert.ok((chart?.spans.at(-1)?.end ?? 0) > Date.parse(MOMENT));
});

test("a long time has long spans, and none is lost", () => {
  const times = ["2019-01-01T00:00:00Z", "2026-02-28T23:59:59Z"];
  const chart = chartOf(
    times.map((time) => eviction({ time })),
    "rule",
    MOMENT,
  );
  assert.ok((chart?.spans.length ?? 99) <= 48);
  assert.equal(
    chart?.spans.reduce((all, each) => all + each.total, 0),
    2,
  );
});

test("small series are one", () => {
  const many = Array.from({ length: 20 }, (_, at) => eviction({ namespace: `n${at}` }));
  const chart = chartOf(many, "namespace", MOMENT);
  assert.equal(chart?.series.length, MOST_SERIES + 1);
  assert.equal(chart?.spans[0]?.counts.at(-1), 20 - MOST_SERIES);
});

test("what has no time is in no span, and counted", () => {
  assert.equal(chartOf([], "vain", MOMENT), null);
  assert.equal(chartOf([eviction({ time: "" })], "vain", MOMENT), null);
  assert.equal(chartOf([eviction({}), eviction({ time: "", units: 4 })], "vain", MOMENT)?.timeless, 4);
});

test("series have words", () => {
  assert.equal(seriesOf(eviction({ inVain: null }), "vain"), "not known yet");
  assert.equal(seriesOf(eviction({ inVain: true }), "vain"), "in vain");
  assert.equal(seriesOf(eviction({ namespace: "" }), "namespace"), "a namespace that you may not see");
});

test("an axis has few round numbers", () => {
  assert.deepEqual(ticks(1), [0, 1]);
  assert.deepEqual(ticks(7), [0, 2, 4, 6, 8]);
  assert.deepEqual(ticks(100), [0, 50, 100]);
});

test("all bars stand inside of the picture, and the file names its series", () => {
  const chart = chartOf([eviction({ units: 5 }), eviction({ namespace: "<b>", units: 2 })], "namespace", MOMENT);
  assert.ok(chart !== null);
  const drawn = pieces(chart);
  assert.equal(drawn.length, 2);
  assert.ok(drawn.every((each) => each.y >= 0 && each.y + each.height <= HEIGHT && each.x + each.width <= WIDTH));
  const picture = historyPicture(chart, "Namespace");
  assert.ok(picture.includes(">batch<") && picture.includes("&lt;b&gt;") && !picture.includes("<b>"));
});
