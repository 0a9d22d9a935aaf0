/** What is drawn of a map: for the canvas, for files and for the legend. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { amountText } from "../src/map/amounts.ts";
import { modelOf } from "../src/map/columns.ts";
import { type Choice, drawnOf, type Eye, legendOf, lookOf, wantedGangs } from "../src/map/drawn.ts";
import { ALONE } from "../src/map/gangs.ts";
import { layOut } from "../src/map/layout.ts";
import { assigned, type Inks } from "../src/map/palette.ts";
import { levelOf, type Shape, shapesOf } from "../src/map/shapes.ts";
import { escaped, svgOf } from "../src/map/svg.ts";
import type { NodePod } from "../src/wire.ts";
import { MAP } from "./maps.ts";

const MODEL = modelOf(MAP);
const LAYOUT = layOut(
  MAP.nodes.name.map((name, at) => ({ name, block: MAP.blocks[MAP.nodes.block[at] ?? 0] ?? null })),
  null,
);
const SLOTS = assigned(new Map(), wantedGangs(MODEL, MODEL.amounts([0, 1, 2]), ""));
const EYE: Eye = { x: 10, y: 20, scale: 40, width: 800, height: 600 };
const NOTHING: Choice = { gang: "", node: "", found: new Set() };
const INKS: Inks = { ink: "#111", paper: "#fff", hair: "#ddd", quiet: "#555", focus: "#00f", isForced: false };

function drawn(choice: Partial<Choice> = {}, eye: Eye = EYE, pods?: readonly NodePod[]) {
  return drawnOf(MODEL, LAYOUT, eye, SLOTS, { ...NOTHING, ...choice }, () => pods);
}

function told(shapes: readonly Shape[]) {
  return shapes.map(({ tone, slot, amount, isVictim, isDim }) => [tone, slot, amount, isVictim, isDim]);
}

test("a node has what the answer says of it", () => {
  assert.deepEqual(MODEL.parts(1), [
    { gang: 0, pods: 1, used: 1, leaving: 0 },
    { gang: 2, pods: 1, used: 3, leaving: 0 },
  ]);
  assert.deepEqual(MODEL.parts(2), []);
  assert.deepEqual(MODEL.promised(0), [{ gang: 1, pods: 2, amount: 4 }]);
  assert.equal(MODEL.room(2).block, null);
  assert.equal(MODEL.gangAt("b/old"), 2);
  assert.equal(MODEL.gangAt("b/none"), ALONE);
});

test("the gangs that matter are the chosen one and the largest", () => {
  assert.deepEqual(wantedGangs(MODEL, MODEL.amounts([0, 1, 2]), ""), ["a/old", "a/train", "b/old"]);
  assert.deepEqual(wantedGangs(MODEL, MODEL.amounts([1]), ""), ["b/old", "a/old"]);
  assert.deepEqual(wantedGangs(MODEL, MODEL.amounts([1]), "a/train"), ["a/train", "b/old", "a/old"]);
  assert.deepEqual(wantedGangs(MODEL, MODEL.amounts([1]), "a/gone"), ["b/old", "a/old"]);
});

test("shapes fill the node as far as it is used, and promised room stands beside it", () => {
  const shapes = shapesOf(MODEL, 0, lookOf(MODEL, 40, SLOTS, ""), undefined);
  assert.deepEqual(told(shapes), [
    ["used", 0, 2, false, false],
    ["leaving", 0, 2, false, false],
    ["used", -1, 2, false, false],
    ["promised", 1, 4, false, false],
  ]);
  const now = shapes.filter(({ tone }) => tone !== "promised");
  assert.equal(
    now.reduce((sum, { height }) => sum + height, 0),
    6 / 8,
  );
  assert.equal(Math.min(...now.map(({ y }) => y)), 2 / 8);
  assert.ok(now.every(({ width, x }) => x === 0 && width < 1));
  assert.deepEqual(shapesOf(MODEL, 2, lookOf(MODEL, 40, SLOTS, ""), undefined), []);
});

test("far away a node is a level, and the chosen gang alone has its colour", () => {
  assert.deepEqual(told(shapesOf(MODEL, 1, lookOf(MODEL, 8, SLOTS, ""), undefined)), [
    ["used", -1, 4, false, false],
    ["anonymous", -1, 2, false, false],
  ]);
  assert.deepEqual(told(shapesOf(MODEL, 1, lookOf(MODEL, 8, SLOTS, "a/old"), undefined)), [
    ["used", 0, 1, false, false],
    ["used", -1, 3, false, true],
    ["anonymous", -1, 2, false, true],
  ]);
});

test("a chosen gang brings out its victims and its planned nodes", () => {
  assert.deepEqual(told(shapesOf(MODEL, 0, lookOf(MODEL, 40, SLOTS, "a/train"), undefined)), [
    ["used", 0, 1, true, false],
    ["leaving", 0, 2, true, false],
    ["used", 0, 1, false, true],
    ["used", -1, 2, false, true],
    ["promised", 1, 4, false, false],
  ]);
  const nodes = drawn({ gang: "a/train" }).nodes;
  assert.deepEqual(
    nodes.map(({ name, isPlanned }) => [name, isPlanned]),
    [
      ["n1", true],
      ["n2", false],
      ["n3", false],
    ],
  );
});

test("from nearest, pods are drawn once they are known", () => {
  const pod = { namespace: "a", gang: "old", priority: 1, victimOf: "" };
  const pods: NodePod[] = [
    { ...pod, name: "p2", requests: { gpu: 3 }, leaving: false, victimOf: "a/train" },
    { ...pod, name: "p1", requests: { gpu: 1 }, leaving: true },
    { ...pod, name: "p3", requests: { cpu: 1 }, leaving: false, gang: "" },
  ];
  const shapes = shapesOf(MODEL, 1, lookOf(MODEL, 200, SLOTS, "a/train"), pods);
  assert.deepEqual(
    shapes.map(({ pod, tone, isVictim }) => [pod, tone, isVictim]),
    [
      ["a/p2", "used", true],
      ["a/p1", "leaving", false],
      ["", "anonymous", false],
    ],
  );
  assert.deepEqual([8, 40, 200].map(levelOf), ["far", "near", "nearest"]);
});

test("the export says what is drawn, and where", () => {
  const found = drawn({ node: "n2", found: new Set(["n1"]) });
  const place = LAYOUT.places.get("n2") ?? { x: 0, y: 0 };
  const two = found.nodes.find(({ name }) => name === "n2");
  assert.deepEqual([two?.x, two?.y, two?.side], [10 + 40 * place.x, 20 + 40 * place.y, 40]);
  assert.deepEqual([two?.isChosen, two?.isFound, two?.anonymous], [true, false, 2]);
  assert.equal(found.nodes.find(({ name }) => name === "n1")?.isFound, true);
  assert.deepEqual([found.level, found.resource, found.blocks.length], ["near", "gpu", 2]);
  assert.deepEqual(
    found.legend.map(({ namespace, name, amount }) => [namespace, name, amount]),
    [
      ["a", "old", 5],
      ["a", "train", 4],
      ["b", "old", 3],
    ],
  );
  assert.deepEqual(drawn({}, { ...EYE, x: 5000 }).nodes, []);
});

test("the legend names the largest first", () => {
  assert.deepEqual(
    legendOf(MODEL, MODEL.amounts([1]), SLOTS).map(({ name, namespace, amount }) => `${namespace}/${name} ${amount}`),
    ["b/old 3", "a/old 1", "a/train 0"],
  );
});

test("an SVG has each node, and no markup of others", () => {
  const hostile = '</svg><script>alert(1)</script>\u202e\u0000"';
  const names = MAP.nodes.name.map((name) => name + hostile);
  const model = modelOf({ ...MAP, nodes: { ...MAP.nodes, name: names }, blocks: [hostile, null] });
  const layout = layOut(
    names.map((name) => ({ name, block: hostile })),
    null,
  );
  const svg = svgOf(
    drawnOf(model, layout, EYE, SLOTS, NOTHING, () => undefined),
    INKS,
    hostile,
  );
  assert.equal(svg.includes("<script"), false);
  for (const char of ["\u202e", "\u0000"]) assert.equal(svg.includes(char), false);
  assert.equal(svg.split("<g><title>").length - 1, 3);
  assert.equal(svg.split("</svg>").length - 1, 1);
  assert.equal(escaped("<a&\"'>"), "&lt;a&amp;&quot;&#39;&gt;");
});

test("amounts are written as people write them", () => {
  assert.equal(amountText("cpu", 1500), "1.5");
  assert.equal(amountText("memory", 1536 * 1024 ** 2), "1.5 Gi");
  assert.equal(amountText("memory", 0), "0");
  assert.equal(amountText("nvidia.com/gpu", 12000), "12,000");
});
