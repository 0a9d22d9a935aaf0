/** Draws shapes onto a canvas. */

import { printable } from "../printable.ts";
import { MARGIN } from "./layout.ts";
import { type Inks, type Paint, PERIOD, paintOf, type Tone } from "./palette.ts";
import type { Shape } from "./shapes.ts";

const DIM = 0.28;
/** From this height on a pod has its name in it, in pixels. */
const TEXT = 13;
/** From this side on a node has its name in it. */
const NAMED = 76;
const FONT = "11px system-ui, sans-serif";
const LETTER = 5.2;

/** The paints of one theme at one resolution. */
export class Brush {
  readonly inks: Inks;
  private readonly ratio: number;
  private readonly kept = new Map<string, CanvasPattern | string>();

  constructor(inks: Inks, ratio: number) {
    this.inks = inks;
    this.ratio = ratio;
  }

  /** The shapes of a node whose square begins here, and its outline. `isBlank`: it has nothing of the resource. */
  node(
    context: CanvasRenderingContext2D,
    x: number,
    y: number,
    side: number,
    name: string,
    shapes: readonly Shape[],
    isBlank: boolean,
  ) {
    const margin = side * MARGIN;
    const inner = side - 2 * margin;
    context.fillStyle = this.inks.paper;
    context.fillRect(x + margin, y + margin, inner, inner);
    for (const shape of shapes) this.shape(context, x + margin, y + margin, inner, shape);
    context.globalAlpha = 1;
    context.lineWidth = 1;
    context.strokeStyle = side < 8 || isBlank ? this.inks.hair : this.inks.quiet;
    context.strokeRect(x + margin + 0.5, y + margin + 0.5, Math.max(inner - 1, 0), Math.max(inner - 1, 0));
    if (side >= NAMED) this.label(context, name, x + margin + 4, y + margin + 12, inner - 8);
  }

  private shape(context: CanvasRenderingContext2D, left: number, top: number, side: number, shape: Shape): void {
    const x = left + shape.x * side;
    const y = top + shape.y * side;
    const width = shape.width * side;
    const height = shape.height * side;
    context.globalAlpha = shape.isDim ? DIM : 1;
    context.fillStyle = this.style(context, paintOf(shape.tone, shape.slot, this.inks));
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
    const [, pod = ""] = shape.pod.split(/\/(.*)/s);
    if (pod !== "" && height >= TEXT) this.label(context, pod, x + 4, y + height / 2 + 4, width - 8);
  }

  /** A square of this look, for a legend. */
  square(context: CanvasRenderingContext2D, x: number, y: number, side: number, tone: Tone, slot: number): void {
    context.fillStyle = this.style(context, paintOf(tone, slot, this.inks));
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
    const long = Math.min(context.measureText(shown).width + 4, width + 4);
    context.fillStyle = this.inks.paper;
    context.fillRect(x - 2, y - 10, long, 13);
    context.fillStyle = this.inks.ink;
    context.fillText(shown, x, y, width);
  }

  private style(context: CanvasRenderingContext2D, paint: Paint): CanvasPattern | string {
    const known = this.kept.get(paint.name);
    if (known !== undefined) return known;
    const made = paint.path === "" ? paint.ground : (this.pattern(context, paint) ?? paint.ground);
    this.kept.set(paint.name, made);
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

/** The text, cut to that number of letters. */
export function shortened(text: string, letters: number): string {
  const all = [...text];
  if (all.length <= letters) return text;
  return letters < 3 ? "" : `${all.slice(0, letters - 1).join("")}…`;
}
