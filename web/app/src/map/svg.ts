/** A picture of the map as SVG, for other programs: what is in view, and the legend. */

import { printable } from "../printable.ts";
import type { Drawn, DrawnNode, LegendLine } from "./drawn.ts";
import { MARGIN } from "./layout.ts";
import { shortened } from "./paint.ts";
import { type Inks, OTHERS, type Paint, PERIOD, paintOf, type Tone } from "./palette.ts";
import type { Shape } from "./shapes.ts";

const LINE = 20;
/** What each pattern says. */
export const TONES: readonly (readonly [Tone, string])[] = [
  ["used", "used"],
  ["leaving", "leaving"],
  ["promised", "promised"],
  ["anonymous", "of others, who are not named"],
];

/** `title`: what the picture is of. */
export function svgOf(drawn: Drawn, inks: Inks, title: string): string {
  const paints = new Map<string, Paint>();
  const fill = (tone: Tone, slot: number): string => {
    const paint = paintOf(tone, slot, inks);
    paints.set(paint.name, paint);
    return paint.path === "" ? paint.ground : `url(#${paint.name})`;
  };
  const legend = legendLines(drawn.legend, fill, inks);
  const nodes = drawn.nodes.map((node) => nodeLines(node, fill, inks));
  const titles = drawn.blocks.map(({ value, x, y }) => textLine(x, y - 5, value ?? "without the label", inks.ink));
  const height = drawn.height + legend.height;
  const patterns = [...paints.values()].filter((paint) => paint.path !== "").map(patternLine);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${round(drawn.width)}" height="${round(height)}" viewBox="0 0 ${round(drawn.width)} ${round(height)}" role="img" font-family="system-ui, sans-serif" font-size="11">`,
    `<title>${escaped(title)}</title>`,
    `<defs>${patterns.join("")}<clipPath id="map"><path d="M0 0h${round(drawn.width)}v${round(drawn.height)}h-${round(drawn.width)}z"/></clipPath></defs>`,
    `<path fill="${inks.paper}" d="M0 0h${round(drawn.width)}v${round(height)}h-${round(drawn.width)}z"/>`,
    `<g clip-path="url(#map)">`,
    ...titles,
    ...nodes,
    "</g>",
    `<g transform="translate(0 ${round(drawn.height)})">`,
    ...legend.lines,
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}

type Fill = (tone: Tone, slot: number) => string;

function nodeLines(node: DrawnNode, fill: Fill, inks: Inks): string {
  const margin = node.side * MARGIN;
  const inner = node.side - 2 * margin;
  const [x, y] = [node.x + margin, node.y + margin];
  const shapes = node.shapes.map((shape) => shapeLine(shape, x, y, inner, fill, inks));
  const marks = [node.isPlanned, node.isFound, node.isChosen].filter(Boolean).length;
  const frame = `<rect fill="none" stroke="${marks > 0 ? inks.focus : inks.quiet}" stroke-width="${1 + marks}" ${box(x, y, inner, inner)}/>`;
  return `<g><title>${escaped(node.name)}</title>${shapes.join("")}${frame}</g>`;
}

function shapeLine(shape: Shape, x: number, y: number, side: number, fill: Fill, inks: Inks): string {
  const sides = box(x + shape.x * side, y + shape.y * side, shape.width * side, shape.height * side);
  const dim = shape.isDim ? ' opacity="0.28"' : "";
  const victim = shape.isVictim ? ` stroke="${inks.ink}" stroke-width="2"` : "";
  const said = shape.pod === "" ? "" : `<title>${escaped(shape.pod)}</title>`;
  return `<rect fill="${fill(shape.tone, shape.slot)}"${dim}${victim} ${sides}>${said}</rect>`;
}

export interface LegendRow {
  readonly tone: Tone;
  readonly slot: number;
  readonly text: string;
}

/** What patterns and colours mean, line by line. */
export function legendRows(lines: readonly LegendLine[]): LegendRow[] {
  return [
    ...TONES.map(([tone, text]) => ({ tone, text, slot: OTHERS })),
    ...lines.map(({ namespace, name, slot }) => ({ tone: "used" as const, slot, text: `${namespace}/${name}` })),
  ];
}

function legendLines(lines: readonly LegendLine[], fill: Fill, inks: Inks): { lines: string[]; height: number } {
  const rows = legendRows(lines).map(({ tone, slot, text }, at) => {
    const y = at * LINE + 4;
    const square = `<rect fill="${fill(tone, slot)}" stroke="${inks.quiet}" ${box(4, y, 12, 12)}/>`;
    return `${square}${textLine(22, y + 10, text, inks.ink)}`;
  });
  return { lines: rows, height: rows.length * LINE + 8 };
}

function patternLine(paint: Paint): string {
  const lines = `<path d="${paint.path}" fill="none" stroke="${paint.lines}" stroke-width="${paint.width}" stroke-linecap="round"/>`;
  const ground = `<path d="M0 0h${PERIOD}v${PERIOD}h-${PERIOD}z" fill="${paint.ground}"/>`;
  return `<pattern id="${paint.name}" width="${PERIOD}" height="${PERIOD}" patternUnits="userSpaceOnUse">${ground}${lines}</pattern>`;
}

function textLine(x: number, y: number, said: string, ink: string): string {
  return `<text x="${round(x)}" y="${round(y)}" fill="${ink}">${escaped(shortened(said, 80))}</text>`;
}

function box(x: number, y: number, width: number, height: number): string {
  return `x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"`;
}

function round(value: number): string {
  return String(Math.round(value * 100) / 100);
}

const ENTITIES = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&#39;"],
]);

/** Text of others for XML: nothing in it is markup, and every character may be there. */
export function escaped(said: string): string {
  return printable(said).replace(/[&<>"']/g, (char) => ENTITIES.get(char) ?? "");
}
