/** A picture of bars as a file of its own. The numbers stand beside the bars, and no colour says anything alone. */

import { printable } from "./printable.ts";
import { type BarRow, longest, type Part } from "./report.ts";

const WIDTH = 720;
const NAMES = 220;
const NUMBERS = 200;
const BARS = WIDTH - NAMES - NUMBERS;
const THICK = 10;
const GAP = 3;
const TOP = 56;
const LETTERS = 28;
const LINE = 15;
const FILLS: Readonly<Record<Part["kind"], string>> = { nobody: "#9a3412", others: "none", ours: "#1d4ed8" };
const STROKES: Readonly<Record<Part["kind"], string>> = { nobody: "#9a3412", others: "#9a3412", ours: "#1d4ed8" };

/** The file. `key`: what the bars mean. */
export function barsSvg(title: string, key: string, rows: readonly BarRow[]): string {
  const whole = longest(rows);
  let top = TOP;
  const parts: string[] = [];
  for (const row of rows) {
    parts.push(...rowOf(row, top, whole));
    top += heightOf(row);
  }
  const size = `width="${WIDTH}" height="${top}" viewBox="0 0 ${WIDTH} ${top}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="13">`,
    `<title>${inXml(title)}</title>`,
    `<rect width="${WIDTH}" height="${top}" fill="#ffffff"/>`,
    textAt(0, 18, title, 'font-weight="bold" font-size="15"'),
    textAt(0, 38, key, 'fill="#555a60"'),
    ...parts,
    "</svg>",
    "",
  ].join("\n");
}

function heightOf(row: BarRow): number {
  return Math.max(linesOf(row.name).length * LINE, row.bars.length * (THICK + GAP)) + 12;
}

function rowOf(row: BarRow, top: number, whole: number): string[] {
  const found = linesOf(row.name).map((line, at) => textAt(0, top + 10 + at * LINE, line, ""));
  row.bars.forEach((bar, at) => {
    let left = NAMES;
    for (const { kind, number } of bar) {
      if (number <= 0) continue;
      const width = (number / whole) * BARS;
      const place = `x="${left.toFixed(2)}" y="${top + at * (THICK + GAP)}"`;
      const look = `fill="${FILLS[kind]}" stroke="${STROKES[kind]}"`;
      found.push(`<rect ${place} width="${width.toFixed(2)}" height="${THICK}" ${look}/>`);
      left += width;
    }
  });
  found.push(textAt(NAMES + BARS + 10, top + 10, row.said, 'font-size="11"'));
  return found;
}

function textAt(x: number, y: number, text: string, look: string): string {
  return `<text x="${x}" y="${y}" ${look}>${inXml(text)}</text>`;
}

/** A name in lines that fit. It is cut nowhere. */
function linesOf(name: string): string[] {
  return printable(name).match(new RegExp(`.{1,${LETTERS}}`, "gu")) ?? [""];
}

/** The text as the content of an element. */
export function inXml(text: string): string {
  return printable(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
