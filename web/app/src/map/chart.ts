/** The map on its canvas: what is seen, how it moves, and what is marked. */

import { select } from "d3-selection";
import { type ZoomTransform, zoom, zoomIdentity } from "d3-zoom";
import { atFrame, notAtFrame } from "../at_frame.ts";
import type { NodePod } from "../wire.ts";
import {
  type Choice,
  type Drawn,
  drawnOf,
  type Eye,
  type LegendLine,
  legendOf,
  lookOf,
  nodesIn,
  wantedGangs,
} from "./drawn.ts";
import { type Layout, namesIn, nodeAt } from "./layout.ts";
import { changedNames, type Model } from "./model.ts";
import { Brush, boxOf, clearedFor } from "./paint.ts";
import { assigned, type Inks, OTHERS } from "./palette.ts";
import { type Level, type Look, levelOf, shapesOf } from "./shapes.ts";
import { SIDE, Tiles } from "./tiles.ts";

/** How long nothing moves until the map is at rest. */
const REST_MS = 120;
/** The least time between two looks at which gangs matter, while only amounts change. */
const SETTLE_MS = 500;
const CLOSEST = 420;
const EDGE = 12;
const TITLE_HEIGHT = 15;
const STEP = 1.6;

export interface Shown {
  readonly model: Model;
  readonly layout: Layout;
  readonly choice: Choice;
  readonly inks: Inks;
  readonly podsOf: (name: string) => readonly NodePod[] | undefined;
}

export interface Hooks {
  /** The map is at rest: its level, its legend, and the names of the nodes in view. */
  readonly rested: (level: Level, legend: readonly LegendLine[], names: readonly string[]) => void;
  readonly clicked: (name: string) => void;
  readonly moved: (transform: ZoomTransform) => void;
}

export class Chart {
  private readonly canvas: HTMLCanvasElement;
  private readonly hooks: Hooks;
  private readonly zooming = zoom<HTMLCanvasElement, unknown>();
  private readonly tiles = new Tiles({
    whole: (context, left, top, scale) => this.tile(context, left, top, scale),
    some: (context, left, top, scale, names) => this.mend(context, left, top, scale, names),
  });
  private shown: Shown | null = null;
  private transform: ZoomTransform = zoomIdentity;
  private slots: ReadonlyMap<string, number> = new Map();
  private look: Look | null = null;
  private brush: Brush | null = null;
  /** The node that arrows move from. */
  private active = "";
  private ratio = 1;
  /** Of the canvas. To ask it may take the browser long. */
  private size: { readonly width: number; readonly height: number };
  private rest: ReturnType<typeof setTimeout> | undefined;
  private settling: ReturnType<typeof setTimeout> | undefined;
  private isMoving = false;
  /** Somebody has moved the map: it is not fitted into its window any longer. */
  private isOwn: boolean;

  /** `transform`: where one looked before; null for all of the map. */
  constructor(canvas: HTMLCanvasElement, hooks: Hooks, transform: ZoomTransform | null) {
    this.canvas = canvas;
    this.size = sizeOf(canvas);
    this.hooks = hooks;
    this.isOwn = transform !== null;
    this.transform = transform ?? zoomIdentity;
    this.zooming.on("zoom", (event) => this.zoomed(event.transform, Boolean(event.sourceEvent)));
    select(canvas).call(this.zooming).on("dblclick.zoom", null);
    canvas.addEventListener("click", this.click);
  }

  stop(): void {
    notAtFrame(this.paint);
    clearTimeout(this.rest);
    clearTimeout(this.settling);
    select(this.canvas).on(".zoom", null);
    this.canvas.removeEventListener("click", this.click);
  }

  get eye(): Eye {
    return { x: this.transform.x, y: this.transform.y, scale: this.transform.k, ...this.size };
  }

  /** Show this now. What has moved is drawn again. */
  show(shown: Shown): void {
    const before = this.shown;
    this.shown = shown;
    if (before?.layout !== shown.layout) this.limit();
    if (before?.inks !== shown.inks) this.brush = null;
    const newer = before === null ? null : newerNames(before, shown);
    if (newer !== null) {
      this.redraw(newer);
      this.settleSoon();
    } else {
      this.settle();
      this.tiles.invalidate();
    }
    this.ask();
  }

  private settleSoon(): void {
    this.settling ??= setTimeout(() => {
      this.settling = undefined;
      // It settles when it is at rest.
      if (this.rest === undefined) this.settle();
    }, SETTLE_MS);
  }

  /** These nodes look different now. */
  private redraw(names: Iterable<string>): void {
    for (const name of names) {
      const place = this.shown?.layout.places.get(name);
      if (place !== undefined) this.tiles.invalidateAt(name, place.x, place.y);
    }
  }

  /** The window of the map has another size. */
  resized(): void {
    this.size = sizeOf(this.canvas);
    this.limit();
    this.settle();
    this.ask();
  }

  /** Mark the node, and bring it into view. */
  mark(name: string): void {
    this.active = name;
    const place = this.shown?.layout.places.get(name);
    if (place !== undefined) this.reveal(place.x, place.y);
    this.ask();
  }

  /** Closer (1) or further away (-1). */
  step(direction: number): void {
    const selection = select(this.canvas);
    const place = this.shown?.layout.places.get(this.active);
    const middle: [number, number] | undefined = place && this.transform.apply([place.x + 0.5, place.y + 0.5]);
    this.isOwn = true;
    if (middle === undefined) this.zooming.scaleBy(selection, STEP ** direction);
    else this.zooming.scaleBy(selection, STEP ** direction, middle);
  }

  /** All of the map. */
  fit(): void {
    this.isOwn = false;
    this.limit();
  }

  /** What the picture shows. */
  drawn(): Drawn | null {
    if (this.shown === null) return null;
    const { model, layout, choice, podsOf } = this.shown;
    this.settle();
    return drawnOf(model, layout, this.eye, this.slots, choice, podsOf);
  }

  private readonly click = (event: MouseEvent): void => {
    const [x, y] = this.transform.invert([event.offsetX, event.offsetY]);
    const name = this.shown === null ? "" : nodeAt(this.shown.layout, x, y);
    if (name !== "") this.hooks.clicked(name);
  };

  /** How far away and how close one may look. */
  private limit(): void {
    if (this.shown === null) return;
    const { width: units, height: rows } = this.shown.layout;
    const { width, height } = this.eye;
    if (width === 0 || height === 0) return;
    const scale = Math.min((width - 2 * EDGE) / units, (height - 2 * EDGE) / rows, CLOSEST);
    this.zooming
      .extent([
        [0, 0],
        [width, height],
      ])
      .scaleExtent([Math.min(scale, CLOSEST) * 0.8, CLOSEST])
      .translateExtent([
        [-units / 2, -rows / 2],
        [units * 1.5, rows * 1.5],
      ]);
    const fitted = zoomIdentity
      .translate((width - units * scale) / 2, Math.max(EDGE, (height - rows * scale) / 2))
      .scale(scale);
    this.zooming.transform(select(this.canvas), this.isOwn ? this.transform : fitted);
  }

  private zoomed(transform: ZoomTransform, isByHand: boolean): void {
    this.transform = transform;
    if (isByHand) this.isOwn = true;
    if (this.isOwn) this.hooks.moved(transform);
    this.isMoving = true;
    clearTimeout(this.rest);
    this.rest = setTimeout(() => {
      this.rest = undefined;
      this.isMoving = false;
      this.settle();
      this.ask();
    }, REST_MS);
    this.ask();
  }

  private reveal(x: number, y: number): void {
    const { width, height } = this.eye;
    const [left, top] = this.transform.apply([x, y]);
    const side = this.transform.k;
    const away = (at: number, size: number): number => (at < EDGE ? EDGE - at : Math.min(0, size - EDGE - side - at));
    const [dx, dy] = [away(left, width), away(top, height)];
    if (dx === 0 && dy === 0) return;
    this.isOwn = true;
    this.zooming.translateBy(select(this.canvas), dx / side, dy / side);
  }

  /** Find out which gangs matter here, and what they look like. */
  private settle(): void {
    if (this.shown === null) return;
    const { model, layout, choice } = this.shown;
    const nodes = nodesIn(model, layout, this.eye);
    const amounts = model.amounts(nodes);
    const slots = assigned(this.slots, wantedGangs(model, amounts, choice.gang));
    const look = lookOf(model, this.transform.k, slots, choice.gang);
    const before = this.look;
    this.slots = slots;
    this.look = look;
    if (before === null || before.level !== look.level || before.chosen !== look.chosen) this.tiles.invalidate();
    else this.redraw(recoloured(model, before, look));
    this.ask();
    this.hooks.rested(
      look.level,
      legendOf(model, amounts, slots),
      nodes.map((node) => model.room(node).name),
    );
  }

  private ask(): void {
    atFrame(this.paint);
  }

  private readonly paint = (): void => {
    const context = this.canvas.getContext("2d");
    const eye = this.eye;
    if (context === null || this.shown === null || eye.width === 0) return;
    this.resize(eye);
    // A map that is only pushed aside keeps its tiles, and gets new ones at its edge.
    const waits = this.isMoving && eye.scale !== this.tiles.scale;
    const isSharp = waits || this.tiles.sharpen(eye, this.ratio, !this.isMoving);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, eye.width, eye.height);
    this.tiles.paint(context, eye, !this.isMoving);
    this.marks(context, eye, this.shown);
    if (!isSharp) this.ask();
  };

  private resize({ width, height }: Eye): void {
    this.ratio = Math.min(window.devicePixelRatio || 1, 3);
    const [wide, high] = [Math.round(width * this.ratio), Math.round(height * this.ratio)];
    if (this.canvas.width !== wide || this.canvas.height !== high) {
      this.canvas.width = wide;
      this.canvas.height = high;
      this.brush = null;
    }
  }

  private tile(context: CanvasRenderingContext2D, left: number, top: number, scale: number): void {
    if (this.shown === null || this.look === null) return;
    const { layout } = this.shown;
    const look = { ...this.look, level: levelOf(scale) };
    const names = namesIn(layout, left / scale, top / scale, (left + SIDE) / scale, (top + SIDE) / scale);
    for (const name of names) this.node(context, scale, name, look, this.shown);
  }

  /** Draw these nodes of a tile again. False if they cannot be cleared without harm to those beside them. */
  private mend(
    context: CanvasRenderingContext2D,
    left: number,
    top: number,
    scale: number,
    names: Iterable<string>,
  ): boolean {
    if (this.shown === null || this.look === null) return false;
    // Otherwise pixels of tiles are none of the screen.
    if (!Number.isInteger(SIDE * this.ratio)) return false;
    const look = { ...this.look, level: levelOf(scale) };
    for (const name of names) {
      const place = this.shown.layout.places.get(name);
      if (place === undefined) return false;
      const box = boxOf(place.x * scale - left, place.y * scale - top, scale, this.ratio);
      const cleared = clearedFor(box, scale, this.ratio);
      if (cleared === null) return false;
      context.clearRect(left + cleared.x, top + cleared.y, cleared.width, cleared.height);
      this.node(context, scale, name, look, this.shown);
    }
    return true;
  }

  private node(context: CanvasRenderingContext2D, scale: number, name: string, look: Look, shown: Shown): void {
    const { model, layout, inks, podsOf } = shown;
    const place = layout.places.get(name);
    const node = model.nodeAt(name);
    if (place === undefined || node < 0) return;
    this.brush ??= new Brush(inks, this.ratio);
    const shapes = shapesOf(model, node, look, podsOf(name));
    const isBlank = model.room(node).allocatable === 0;
    this.brush.node(context, boxOf(place.x * scale, place.y * scale, scale, this.ratio), scale, name, shapes, isBlank);
  }

  /** Titles of blocks, and rings around nodes: they are as sharp while the map moves. */
  private marks(context: CanvasRenderingContext2D, eye: Eye, { model, layout, choice, inks }: Shown): void {
    this.brush ??= new Brush(inks, this.ratio);
    for (const block of layout.blocks) {
      const [x, y] = this.transform.apply([block.x, block.y]);
      const width = block.columns * eye.scale;
      if (eye.scale < TITLE_HEIGHT * 0.6 && width < 24) continue;
      if (x > eye.width || x + width < 0 || y < 0 || y > eye.height + TITLE_HEIGHT) continue;
      this.brush.label(context, block.value ?? "without the label", x + 2, y - 3, width - 4);
    }
    const planned = model.planOf(model.gangAt(choice.gang))?.promised ?? [];
    for (const { node } of planned) this.ring(context, eye, node, inks.ink, 2, []);
    for (const name of choice.found) this.ring(context, eye, name, inks.focus, 3, [4, 3]);
    this.ring(context, eye, choice.node, inks.focus, 3, []);
    if (this.active !== choice.node) this.ring(context, eye, this.active, inks.focus, 2, []);
  }

  private ring(
    context: CanvasRenderingContext2D,
    eye: Eye,
    name: string,
    colour: string,
    width: number,
    dashes: readonly number[],
  ): void {
    const place = this.shown?.layout.places.get(name);
    if (place === undefined) return;
    const [x, y] = this.transform.apply([place.x, place.y]);
    if (x > eye.width || y > eye.height || x + eye.scale < 0 || y + eye.scale < 0) return;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.setLineDash([...dashes]);
    context.strokeRect(x, y, eye.scale, eye.scale);
    context.setLineDash([]);
  }
}

function sizeOf({ clientWidth: width, clientHeight: height }: HTMLCanvasElement) {
  return { width, height };
}

/** The nodes with gangs whose colour is another one. Far away only the chosen gang has one. */
function* recoloured(model: Model, before: Look, look: Look): Generator<string> {
  const slotIn = ({ slots, level, chosen }: Look, gang: number): number =>
    level === "far" && gang !== chosen ? OTHERS : (slots.get(gang) ?? OTHERS);
  const gangs = new Set(
    [...before.slots.keys(), ...look.slots.keys()].filter((gang) => slotIn(before, gang) !== slotIn(look, gang)),
  );
  if (gangs.size === 0) return;
  for (let node = 0; node < model.size; node++) {
    const holds = ({ gang }: { readonly gang: number }): boolean => gangs.has(gang);
    if (model.parts(node).some(holds) || model.promised(node).some(holds)) yield model.room(node).name;
  }
}

/** The nodes that look different now; null if all of them may. */
function newerNames(before: Shown, shown: Shown): Set<string> | null {
  const isSame =
    before.layout === shown.layout && before.inks === shown.inks && before.choice.gang === shown.choice.gang;
  const [old, now] = [before.model, shown.model];
  const names = changedNames(old, now);
  if (!isSame || names === null) return null;
  const { gang } = shown.choice;
  if (gang !== "" && old.planOf(old.gangAt(gang)) !== now.planOf(now.gangAt(gang))) return null;
  if (before.podsOf === shown.podsOf) return names;
  for (const { name } of now.stock.nodes) if (before.podsOf(name) !== shown.podsOf(name)) names.add(name);
  return names;
}
