import assert from "node:assert/strict";
import { test } from "node:test";
import { layOut, type Named, namesIn, neighbour, nodeAt } from "../src/map/layout.ts";
import { around } from "../src/map/tiles.ts";

function nodes(block: string | null, ...names: string[]): Named[] {
  return names.map((name) => ({ name, block }));
}

const TWO = [...nodes("r1", "a", "b", "c", "d", "e"), ...nodes("r2", "f", "g")];

test("no two nodes stand at one place, and each block holds its own", () => {
  const many = Array.from({ length: 300 }, (_, at) => ({ name: `n${at}`, block: `r${at % 17}` }));
  const layout = layOut(many, null);
  const places = [...layout.places.values()].map(({ x, y }) => `${x} ${y}`);
  assert.equal(new Set(places).size, 300);
  assert.equal(layout.blocks.length, 17);
  for (const { name } of many) {
    const { x, y } = layout.places.get(name) ?? { x: -1, y: -1 };
    assert.ok(x >= 0 && y >= 0 && x + 1 <= layout.width && y + 1 <= layout.height);
    assert.equal(nodeAt(layout, x + 0.5, y + 0.5), name);
  }
});

test("nodes keep their places when others come and go", () => {
  const before = layOut(TWO, null);
  const later = [...nodes("r1", "a", "c", "d", "e", "new"), ...nodes("r2", "f", "g"), ...nodes("r3", "h")];
  const after = layOut(later, before);
  for (const name of ["a", "c", "d", "e", "f", "g"]) assert.deepEqual(after.places.get(name), before.places.get(name));
  assert.deepEqual(after.places.get("new"), before.places.get("b"));
  assert.equal(after.places.has("b"), false);
  assert.ok((after.places.get("h")?.y ?? 0) >= before.height);
});

test("a block that is full goes on below all others", () => {
  const before = layOut(TWO, null);
  const grown = [...TWO, ...nodes("r2", ..."ijklmnop")];
  const after = layOut(grown, before);
  for (const [name, place] of before.places) assert.deepEqual(after.places.get(name), place);
  assert.equal(after.places.size, grown.length);
  assert.ok(after.blocks.filter((block) => block.value === "r2").length > 1);
});

test("a node in another block takes another place", () => {
  const before = layOut(TWO, null);
  const after = layOut([...nodes("r1", "b", "c", "d", "e"), ...nodes("r2", "f", "g", "a")], before);
  assert.notDeepEqual(after.places.get("a"), before.places.get("a"));
  assert.equal(after.places.size, 7);
});

test("a rectangle has the nodes that are in it", () => {
  const layout = layOut(TWO, null);
  assert.deepEqual([...namesIn(layout, -9, -9, 99, 99)].sort(), [..."abcdefg"]);
  const { x, y } = layout.places.get("f") ?? { x: 0, y: 0 };
  assert.deepEqual([...namesIn(layout, x + 0.1, y + 0.1, x + 0.9, y + 0.9)], ["f"]);
  assert.deepEqual([...namesIn(layout, 90, 90, 99, 99)], []);
});

test("arrows lead to every node, and stay at the edge", () => {
  const layout = layOut(TWO, null);
  const reached = new Set(["a"]);
  for (const name of reached) {
    for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]) reached.add(neighbour(layout, name, key));
  }
  assert.deepEqual([...reached].sort(), [..."abcdefg"]);
  assert.equal(neighbour(layout, "a", "ArrowLeft"), "a");
  assert.equal(neighbour(layout, "", "ArrowDown"), "a");
  assert.equal(neighbour(layout, "a", "x"), "");
});

test("the map of no node, and of names that objects have of their own", () => {
  assert.equal(layOut([], null).places.size, 0);
  const layout = layOut(nodes("__proto__", "__proto__", "constructor", "toString"), null);
  assert.equal(layout.places.size, 3);
  assert.equal(nodeAt(layout, 0.5, 1.5), "__proto__");
});

test("tiles cover the window, the middle first", () => {
  const view = { x: -50, y: 25, scale: 2, width: 450, height: 250 };
  const tiles = around(view, 2);
  assert.deepEqual(new Set(tiles.map(([column]) => column)), new Set([0, 1, 2]));
  assert.deepEqual(new Set(tiles.map(([, row]) => row)), new Set([-1, 0, 1]));
  assert.deepEqual(tiles[0], [1, 0]);
});
