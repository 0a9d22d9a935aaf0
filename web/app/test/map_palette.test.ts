/** The hues of the map differ for everybody, and stand out from both papers. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { assigned, GREY, HUES, type Inks, OTHERS, paintOf, SLOTS } from "../src/map/palette.ts";
import { contrast, difference, EYES, seen } from "./colours.ts";

const PAPERS = /--paper: light-dark\((#\w{6}), (#\w{6})\)/;
const INKS: Inks = {
  ink: "#111111",
  paper: "#ffffff",
  hair: "#dddddd",
  quiet: "#555555",
  focus: "#0000ff",
  isForced: false,
};

test("the difference of colours is that of the paper on CIEDE2000", () => {
  // Two of the pairs of Sharma, Wu and Dalal: L, a and b of both, and the difference.
  assert.ok(Math.abs(difference([50, 2.6772, -79.7751], [50, 0, -82.7485]) - 2.0425) < 1e-4);
  assert.ok(Math.abs(difference([60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387]) - 1.2644) < 1e-4);
  assert.ok(Math.abs(difference([50, 2.5, 0], [61, -5, 29]) - 22.8977) < 1e-4);
});

for (const eye of EYES) {
  test(`hues differ for ${eye.name}`, () => {
    const colours = [...HUES, GREY];
    for (const [at, one] of colours.entries()) {
      for (const other of colours.slice(at + 1)) {
        const apart = difference(seen(one, eye), seen(other, eye));
        assert.ok(apart >= 10, `${one} and ${other}: ${apart}`);
      }
    }
  });
}

test("hues have 3:1 from the light and from the dark paper", () => {
  const papers = PAPERS.exec(readFileSync(new URL("../style/tokens.css", import.meta.url), "utf8"))?.slice(1) ?? [];
  assert.equal(papers.length, 2);
  for (const hue of [...HUES, GREY]) {
    for (const paper of papers) assert.ok(contrast(hue, paper) >= 3, `${hue} on ${paper}: ${contrast(hue, paper)}`);
  }
});

test("the pattern says what room it is, and not the colour", () => {
  const paths = (["used", "leaving", "promised", "anonymous"] as const).map((tone) => paintOf(tone, 3, INKS).path);
  assert.equal(new Set(paths).size, 4);
});

test("sixteen gangs look different, also where colours are forced to be the same", () => {
  const slots = Array.from({ length: SLOTS }, (_, slot) => slot);
  const looks = slots.map((slot) => {
    const { ground, path } = paintOf("used", slot, INKS);
    return `${ground} ${path}`;
  });
  assert.equal(new Set(looks).size, SLOTS);
  assert.equal(paintOf("used", 2, { ...INKS, isForced: true }).ground, INKS.ink);
  assert.equal(paintOf("used", OTHERS, INKS).ground, GREY);
});

test("a gang that still matters keeps its colour", () => {
  const first = assigned(new Map(), ["a", "b", "c"]);
  assert.deepEqual(
    [...first],
    [
      ["a", 0],
      ["b", 1],
      ["c", 2],
    ],
  );
  assert.deepEqual(
    [...assigned(first, ["d", "c", "a"])],
    [
      ["d", 1],
      ["c", 2],
      ["a", 0],
    ],
  );
  const many = Array.from({ length: 40 }, (_, at) => `gang-${at}`);
  assert.equal(new Set(assigned(first, many).values()).size, SLOTS);
});
