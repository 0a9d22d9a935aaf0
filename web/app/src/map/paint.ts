/** Draws shapes onto a canvas. */

import { printable } from "../printable.ts";
import { MARGIN } from "./layout.ts";
import { type Inks, OTHERS, type Paint, PERIOD, paintOf, type Tone } from "./palette.ts";
import type { Shape } from "./shapes.ts";

const DIM = 0.28;
/** From this height on a pod has its name in it, in pixels. */
const TEXT = 13;
/** From this side on a node has its name in it. */
const NAMED = 76;
const FONT = "11px system-ui, sans-serif";
const LETTER = 5.2;
/** What computing may add to a whole number. */
const NEARLY = 1e-6;
/** Of texts whose width is remembered. */
const TEXTS = 2000;

/** Below this side, in pixels of the screen, the square of a node is made of whole ones. */
const WHOLE = 20;
/** Below this side it is too small for that. */
const LEAST = 4;

/** In pixels of the page. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Where a node is drawn whose place begins here: its place without the margin. `ratio`: pixels of the screen for one. */
export function boxOf(x: number, y: number, side: number, ratio: number): Box {
  if (side * ratio < LEAST || side * ratio >= WHOLE) {
    const margin = side * MARGIN;
    return { x: x + margin, y: y + margin, width: side - 2 * margin, height: side - 2 * margin };
  }
  const gap = Math.max(1, Math.round(2 * side * MARGIN * ratio));
  const [left, width] = stretch(x, side, gap, ratio);
  const [top, height] = stretch(y, side, gap, ratio);
  return { x: left, y: top, width, height };
}

function stretch(from: number, side: number, gap: number, ratio: number): readonly [number, number] {
  const whole = (at: number): number => Math.round(at * ratio + NEARLY) + Math.floor(gap / 2);
  const first = whole(from);
  return [first / ratio, (whole(from + side) - gap - first) / ratio];
}

/**
 * What may be cleared of a node that is drawn in this box, in whole pixels of the screen; null if some of them belong to
 * those beside it, too.
 */
export function clearedFor(box: Box, side: number, ratio: number): Box | null {
  const isWhole = side * ratio >= LEAST && side * ratio < WHOLE;
  // Lines of large ones stand out a little.
  const margin = side * MARGIN;
  const out = isWhole ? 0 : Math.max(0, margin - 1);
  if (!isWhole && 2 * (margin - out) * ratio < 1) return null;
  const [x, width] = pixels(box.x - out, box.width + 2 * out, ratio);
  const [y, height] = pixels(box.y - out, box.height + 2 * out, ratio);
  return { x, y, width, height };
}

/** The whole pixels of the screen that have a part of this stretch: from where, and how far. */
function pixels(from: number, length: number, ratio: number): readonly [number, number] {
  const first = Math.floor(from * ratio + NEARLY);
  return [first / ratio, (Math.ceil((from + length) * ratio - NEARLY) - first) / ratio];
}

/** The paints of one theme at one resolution. */
export class Brush {
  readonly inks: Inks;
  private readonly ratio: number;
  /** By tone: by slot, OTHERS first. */
  private readonly kept = new Map<Tone, (CanvasPattern | string)[]>();
  private readonly widths = new Map<string, number>();

  constructor(inks: Inks, ratio: number) {
    this.inks = inks;
    this.ratio = ratio;
  }

  /** The shapes of a node in its box, and its outline. `isBlank`: it has nothing of the resource. */
  node(
    context: CanvasRenderingContext2D,
    box: Box,
    side: number,
    name: string,
    shapes: readonly Shape[],
    isBlank: boolean,
  ) {
    const { x, y, width, height } = box;
    const line = side < 8 || isBlank ? this.inks.hair : this.inks.quiet;
    context.fillStyle = this.inks.paper;
    context.fillRect(x, y, width, height);
    // The outline of a small one would hide how full it is.
    const isSmall = side * this.ratio < WHOLE;
    if (isSmall) outline(context, box, line);
    for (const shape of shapes) this.shape(context, box, shape);
    context.globalAlpha = 1;
    if (!isSmall) outline(context, box, line);
    if (side >= NAMED) this.label(context, name, x + 4, y + 12, width - 8);
  }

  private shape(context: CanvasRenderingContext2D, box: Box, shape: Shape): void {
    const x = box.x + shape.x * box.width;
    const y = box.y + shape.y * box.height;
    const width = shape.width * box.width;
    const height = shape.height * box.height;
    context.globalAlpha = shape.isDim ? DIM : 1;
    context.fillStyle = this.style(context, shape.tone, shape.slot);
    context.fillRect(x, y, width, height);
    if (shape.pod !== "" && height > 3) {
      context.strokeStyle = this.inks.paper;
      context.lineWidth = 1;
      context.strokeRect(x, y, width, height);
    }
    if (shape.isVictim) {
      context.strokeStyle = this.inks.ink;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, Math.max(width - 2, 0), Math.max(height - 2, 0));
    }
    if (shape.pod === "" || height < TEXT) return;
    const [, pod = ""] = shape.pod.split(/\/(.*)/s);
    if (pod !== "") this.label(context, pod, x + 4, y + height / 2 + 4, width - 8);
  }

  /** A square of this look, for a legend. */
  square(context: CanvasRenderingContext2D, x: number, y: number, side: number, tone: Tone, slot: number): void {
    context.fillStyle = this.style(context, tone, slot);
    context.fillRect(x, y, side, side);
    context.strokeStyle = this.inks.quiet;
    context.lineWidth = 1;
    context.strokeRect(x, y, side, side);
  }

  /** A text on its own ground, cut where it would be too long. */
  label(context: CanvasRenderingContext2D, text: string, x: number, y: number, width: number): void {
    const shown = shortened(printable(text), Math.floor(width / LETTER));
    if (shown === "") return;
    context.font = FONT;
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    const long = Math.min(this.width(context, shown) + 4, width + 4);
    context.fillStyle = this.inks.paper;
    context.fillRect(x - 2, y - 10, long, 13);
    context.fillStyle = this.inks.ink;
    context.fillText(shown, x, y, width);
  }

  /** Of a text in FONT. */
  private width(context: CanvasRenderingContext2D, text: string): number {
    const known = this.widths.get(text);
    if (known !== undefined) return known;
    if (this.widths.size >= TEXTS) this.widths.clear();
    const { width } = context.measureText(text);
    this.widths.set(text, width);
    return width;
  }

  private style(context: CanvasRenderingContext2D, tone: Tone, slot: number): CanvasPattern | string {
    const styles = this.kept.get(tone) ?? [];
    const known = styles[slot - OTHERS];
    if (known !== undefined) return known;
    const paint = paintOf(tone, slot, this.inks);
    const made = paint.path === "" ? paint.ground : (this.pattern(context, paint) ?? paint.ground);
    styles[slot - OTHERS] = made;
    this.kept.set(tone, styles);
    return made;
  }

  private pattern(context: CanvasRenderingContext2D, paint: Paint): CanvasPattern | null {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = Math.round(PERIOD * this.ratio);
    const inner = canvas.getContext("2d");
    if (inner === null) return null;
    const factor = canvas.width / PERIOD;
    inner.scale(factor, factor);
    inner.fillStyle = paint.ground;
    inner.fillRect(0, 0, PERIOD, PERIOD);
    inner.strokeStyle = paint.lines;
    inner.lineWidth = paint.width;
    inner.lineCap = "round";
    inner.stroke(new Path2D(paint.path));
    const pattern = context.createPattern(canvas, "repeat");
    pattern?.setTransform(new DOMMatrix([1 / factor, 0, 0, 1 / factor, 0, 0]));
    return pattern;
  }
}

function outline(context: CanvasRenderingContext2D, { x, y, width, height }: Box, colour: string): void {
  context.lineWidth = 1;
  context.strokeStyle = colour;
  context.strokeRect(x + 0.5, y + 0.5, Math.max(width - 1, 0), Math.max(height - 1, 0));
}

/** The text, cut to that number of letters. */
export function shortened(text: string, letters: number): string {
  const all = [...text];
  if (all.length <= letters) return text;
  return letters < 3 ? "" : `${all.slice(0, letters - 1).join("")}…`;
}
