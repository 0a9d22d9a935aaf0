/** A picture of the map as PNG. */

import type { Drawn } from "./drawn.ts";
import { Brush, boxOf } from "./paint.ts";
import type { Inks } from "./palette.ts";
import { legendRows } from "./svg.ts";

const RATIO = 2;
const LINE = 20;

/** What is in view, and the legend; null if the browser cannot draw it. */
export async function pngOf(drawn: Drawn, inks: Inks): Promise<Blob | null> {
  const rows = legendRows(drawn.legend);
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(drawn.width * RATIO);
  canvas.height = Math.round((drawn.height + rows.length * LINE + 8) * RATIO);
  const context = canvas.getContext("2d");
  if (context === null) return null;
  const brush = new Brush(inks, RATIO);
  context.scale(RATIO, RATIO);
  context.fillStyle = inks.paper;
  context.fillRect(0, 0, canvas.width, canvas.height);
  for (const { value, x, y } of drawn.blocks) brush.label(context, value ?? "without the label", x + 2, y - 3, 240);
  for (const { x, y, side, name, shapes, allocatable, isChosen, isFound, isPlanned } of drawn.nodes) {
    brush.node(context, boxOf(x, y, side, RATIO), side, name, shapes, allocatable === 0);
    if (!isChosen && !isFound && !isPlanned) continue;
    context.strokeStyle = isPlanned ? inks.ink : inks.focus;
    context.lineWidth = 2;
    context.strokeRect(x, y, side, side);
  }
  context.fillStyle = inks.paper;
  context.fillRect(0, drawn.height, drawn.width, rows.length * LINE + 8);
  rows.forEach(({ tone, slot, text }, at) => {
    const y = drawn.height + at * LINE + 4;
    brush.square(context, 4, y, 12, tone, slot);
    brush.label(context, text, 24, y + 10, drawn.width - 28);
  });
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
