/** The nodes of a plan before and after it, as a file of SVG. */

import { after, before, FORMS, MARKS, type Square } from "./plans.ts";
import { printable } from "./printable.ts";
import type { PlannedNode } from "./wire.ts";

const SIZE = 12;
const STEP = 14;
const ROW = 26;
const TOP = 56;
const LETTER = 7.3;

const ESCAPES = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
]);

/** The text inside of XML. */
export function xml(text: string): string {
  return printable(text).replace(/[&<>"]/g, (char) => ESCAPES.get(char) ?? char);
}

/** The picture. It names each pod, and what becomes of it, as the page does. */
export function planPicture(title: string, nodes: readonly PlannedNode[]): string {
  const most = (squares: (node: PlannedNode) => Square[]): number =>
    Math.max(1, ...nodes.map((node) => squares(node).length));
  const left = 16 + LETTER * Math.max(8, ...nodes.map((node) => printable(node.name).length));
  const right = left + STEP * most(before) + 60;
  const width = Math.max(560, right + STEP * most(after) + 16, 32 + LETTER * printable(title).length);
  const height = TOP + ROW * nodes.length + 40;
  const rows = nodes.map((node, at) => {
    const top = TOP + ROW * at;
    return (
      `<text x="16" y="${top + 10}">${xml(node.name)}</text>` +
      squaresOf(before(node), left, top) +
      squaresOf(after(node), right, top)
    );
  });
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
    'font-family="sans-serif" font-size="13" fill="#1a1a1a" role="img">' +
    `<title>${xml(title)}</title><rect width="100%" height="100%" fill="#ffffff"/>` +
    `<text x="16" y="22" font-weight="600">${xml(title)}</text>` +
    `<text x="${left}" y="${TOP - 10}">before</text><text x="${right}" y="${TOP - 10}">after</text>` +
    `${rows.join("")}${legend(height - 18)}</svg>\n`
  );
}

function squaresOf(squares: readonly Square[], left: number, top: number): string {
  return squares.map((square, at) => drawn(square, left + STEP * at, top)).join("");
}

function drawn({ mark, pod }: Square, left: number, top: number): string {
  const form = `<path d="${FORMS.get(mark)}" fill="${mark === "staying" || mark === "leaving" ? "#1a1a1a" : "none"}"/>`;
  const dashes = mark === "leaving" ? ' stroke-dasharray="2 1.5"' : "";
  const named = pod === "" ? "" : `<title>${xml(pod)}: ${mark}</title>`;
  return (
    `<g transform="translate(${left} ${top})" stroke="#1a1a1a">${named}` +
    `<rect x="0.5" y="0.5" width="${SIZE - 1}" height="${SIZE - 1}" fill="#ffffff"${dashes}/>${form}</g>`
  );
}

function legend(top: number): string {
  let left = 16;
  let text = "";
  for (const [mark, words] of MARKS) {
    text += `${drawn({ mark, pod: "" }, left, top)}<text x="${left + 18}" y="${top + 10}">${words}</text>`;
    left += 34 + LETTER * words.length;
  }
  return text;
}
