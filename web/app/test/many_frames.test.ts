/** Many frames, one by one or together: the map is the one that a fresh load has. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { answerOf, modelOf } from "../src/map/columns.ts";
import { drawnOf, wantedGangs } from "../src/map/drawn.ts";
import { applied } from "../src/map/frames.ts";
import { gangKey } from "../src/map/gangs.ts";
import { layOut } from "../src/map/layout.ts";
import { changedNames, type Model } from "../src/map/model.ts";
import { assigned } from "../src/map/palette.ts";
import { placed } from "../src/map/placed.ts";
import type { Frame } from "../src/wire.ts";
import { Changing, randomly } from "./changing.ts";

const EYE = { x: 0, y: 0, scale: 40, width: 2000, height: 2000 };

/** What the picture and its legend show, gang by gang. */
function drawn(model: Model) {
  const all = [...model.stock.nodes.keys()];
  const slots = assigned(new Map(), wantedGangs(model, model.amounts(all), ""));
  const layout = layOut(model.stock.nodes, null);
  return drawnOf(model, layout, EYE, slots, { gang: "", node: "", found: new Set() }, () => undefined);
}

test("frames one by one, and several at once, make the map of a fresh load", () => {
  for (let seed = 0; seed < 25; seed++) {
    const [cluster, random] = [new Changing(seed), randomly(seed + 1000)];
    let [one, several] = [modelOf(cluster.answer()), modelOf(cluster.answer())];
    let waiting: Frame[] = [];
    for (let step = 0; step < 30; step++) {
      const frame = cluster.change();
      one = applied(one, [frame]);
      waiting.push(frame);
      assert.deepEqual(answerOf(one), cluster.answer(), `seed ${seed}, step ${step}`);
      if (random() < 0.6) continue;
      several = applied(several, waiting);
      waiting = [];
      assert.deepEqual(answerOf(several), cluster.answer(), `seed ${seed}, step ${step}`);
      const fresh = modelOf(cluster.answer());
      assert.deepEqual(drawn(several), drawn(fresh));
      const { namespace, name, key } = cluster.answer().gangs;
      const last = new Map(name.map((each, at) => [gangKey(namespace[at] ?? "", each), key[at]]));
      for (const [each, its] of last) assert.equal(several.gang(several.gangAt(each))?.key, its);
    }
  }
});

test("what is not among the changed nodes is drawn as before", () => {
  let known = 0;
  for (let seed = 0; seed < 100; seed++) {
    const cluster = new Changing(seed);
    const before = modelOf(cluster.answer());
    const after = applied(before, [cluster.change()]);
    const names = changedNames(before, after);
    if (names === null) continue;
    known++;
    const [was, is] = [before, after].map((model) => new Map(drawn(model).nodes.map((node) => [node.name, node])));
    const look = (node: ReturnType<typeof drawn>["nodes"][number] | undefined) =>
      JSON.stringify({ ...node, shapes: 0 });
    const amounts = (model: Model, name: string) => {
      const at = model.nodeAt(name);
      const gangs = [...model.parts(at), ...model.promised(at)];
      return gangs.map((row) => ({ ...row, gang: model.gangName(row.gang) }));
    };
    for (const name of is?.keys() ?? []) {
      if (names.has(name)) continue;
      assert.equal(look(is?.get(name)), look(was?.get(name)));
      assert.deepEqual(amounts(after, name), amounts(before, name));
    }
  }
  assert.ok(known > 10);
});

test("a node keeps its place while others change, and the places are looked for only if nodes come or go", () => {
  const cluster = new Changing(3);
  let model = modelOf({ ...cluster.answer(), topologyKey: "kept" });
  for (let step = 0; step < 40; step++) {
    const [before, old] = [placed(model), model];
    model = applied(model, [cluster.change()]);
    const now = placed(model);
    if (old.stock.places === model.stock.places) assert.equal(now, before);
    for (const { name, block } of model.stock.nodes) {
      const at = old.nodeAt(name);
      if (at >= 0 && old.room(at).block === block) assert.deepEqual(now.places.get(name), before.places.get(name));
    }
  }
});

test("gangs that are gone take no room for ever", () => {
  const cluster = new Changing(5);
  let model = modelOf(cluster.answer());
  const frame = cluster.change();
  model = applied(model, [frame]);
  for (let number = 0; number < 3000; number++) {
    const key = [`gang-${number}`];
    const gangs = { namespace: ["z"], name: key, key };
    const { name } = frame.nodes;
    const parts = { node: name.map((_, at) => at), gang: name.map(() => 0), pods: [1], used: [1], leaving: [0] };
    model = applied(model, [{ ...frame, gone: [], plans: null, gangs, parts }]);
    assert.equal(model.gangName(model.gangAt(`z/gang-${number}`)), `z/gang-${number}`);
  }
  assert.ok(model.stock.gangs.size < 1100, `${model.stock.gangs.size}`);
});
