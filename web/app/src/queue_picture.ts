/** The trees of queues as a picture that other programs read: an SVG file without styles from elsewhere. */

import { printable } from "./printable.ts";
import { accountsOf, accountWords, barOf, type PartKind, pairOf } from "./queues.ts";
import type { QueueNode, Queues } from "./wire.ts";

const ROW = 26;
const INDENT = 18;
const NAMES = 360;
const PAIRS = 260;
const BAR = 320;
const WORDS = 420;
const GAP = 12;
const FILLS: Readonly<Record<PartKind, string>> = {
  used: "#1d4ed8",
  borrowed: "url(#borrowed)",
  perhaps: "url(#perhaps)",
  lent: "url(#lent)",
};
const PATTERNS = [
  pattern("borrowed", '<path d="M2 0v6M5 0v6" stroke="#9a3412" stroke-width="1.5"/>'),
  pattern("perhaps", '<path d="M-1 1l2-2M0 6l6-6M5 7l2-2" stroke="#166534" stroke-width="1.2"/>'),
  pattern("lent", '<rect width="6" height="6" fill="#166534"/><path d="M0 3h6" stroke="#ffffff"/>'),
].join("");

/** The picture of what is shown. `pair`: see `accountsOf`. */
export function pictureOf(queues: Queues, pair: string): string {
  const lines: string[] = [];
  for (const node of queues.trees.flat()) for (const line of linesOf(node, pair)) lines.push(line);
  const width = NAMES + PAIRS + BAR + WORDS + 4 * GAP;
  const height = ROW * (lines.length + 1);
  const rows = lines.map((line, at) => `<g transform="translate(0 ${ROW * at + ROW})">${line}</g>`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`,
    ' font-family="system-ui, sans-serif" font-size="13">',
    `<title>Queues</title><defs>${PATTERNS}</defs><rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...rows,
    "</svg>\n",
  ].join("");
}

/** The lines of a node: one for each account, the first of them with its name. */
function linesOf(node: QueueNode, pair: string): string[] {
  const accounts = accountsOf(node, pair);
  const waits = node.waiting ? `, ${node.waiting} waiting` : "";
  const name = text(GAP + INDENT * node.depth, `${node.name}${node.kind === "Cohort" ? "/" : ""}${waits}`, true);
  if (accounts.length === 0) return [name];
  return accounts.map((account, at) => {
    const x = NAMES + PAIRS + 2 * GAP;
    const bar = barOf(account);
    const parts = bar.parts.map(({ kind, from, to }) => rect(x + BAR * from, BAR * (to - from), FILLS[kind]));
    const mark = bar.quota === null ? "" : rect(x + BAR * bar.quota - 1, 2, "#1a1a1a");
    const frame = `<rect x="${x}" y="-11" width="${BAR}" height="14" fill="none" stroke="#767676"/>`;
    const words = text(x + BAR + GAP, accountWords(account), false);
    return [at === 0 ? name : "", text(NAMES + GAP, pairOf(account), false), frame, ...parts, mark, words].join("");
  });
}

function rect(x: number, width: number, fill: string): string {
  return `<rect x="${round(x)}" y="-11" width="${round(width)}" height="14" fill="${fill}"/>`;
}

function pattern(id: string, content: string): string {
  return `<pattern id="${id}" width="6" height="6" patternUnits="userSpaceOnUse">${content}</pattern>`;
}

function text(x: number, said: string, isStrong: boolean): string {
  return `<text x="${x}" fill="#1a1a1a"${isStrong ? ' font-weight="600"' : ""}>${escaped(printable(said))}</text>`;
}

function escaped(said: string): string {
  return said.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
