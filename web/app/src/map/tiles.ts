/**
 * Kept pictures of parts of the map. While the map moves, frames draw kept tiles; at rest they are drawn sharp again, a
 * few milliseconds a frame.
 */

/** The side of a tile in pixels: a whole number of periods of the patterns, so that they meet. */
export const SIDE = 192;
const MOST = 384;
/** How long a frame may draw tiles while the map moves. */
const MOVING_MS = 3;
/** How long at rest: each frame more costs as much as it takes to put the whole canvas onto the screen. */
const RESTING_MS = 8;

interface Tile {
  readonly canvas: HTMLCanvasElement;
  version: number;
  used: number;
  /** The names of nodes that look different since it was drawn. */
  readonly changed: Set<string>;
}

export interface View {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
  readonly width: number;
  readonly height: number;
}

export interface Draw {
  /** All of a tile. Its first pixel has this place, counted from the first unit of the map at this scale. */
  readonly whole: (context: CanvasRenderingContext2D, left: number, top: number, scale: number) => void;
  /** Only these nodes of a tile that is drawn. Returns whether the others are as before; if not, all of it is drawn. */
  readonly some: (
    context: CanvasRenderingContext2D,
    left: number,
    top: number,
    scale: number,
    names: Iterable<string>,
  ) => boolean;
}

interface Kept {
  readonly scale: number;
  readonly tiles: Map<string, Tile>;
}

export class Tiles {
  private readonly draw: Draw;
  private now: Kept = { scale: 1, tiles: new Map() };
  /** Of the last scale: shown where there is nothing sharper. */
  private old: Kept = this.now;
  private version = 0;
  private frame = 0;
  private ratio = 1;

  constructor(draw: Draw) {
    this.draw = draw;
  }

  /** Of the newest tiles. */
  get scale(): number {
    return this.now.scale;
  }

  /** Everything looks different now. What is kept is shown until it is drawn again. */
  invalidate(): void {
    this.version++;
  }

  /** The node in this unit of the map looks different now. */
  invalidateAt(name: string, x: number, y: number): void {
    const { scale, tiles } = this.now;
    const [left, top, right, under] = [x, y, x + 1, y + 1].map((each) => Math.floor((each * scale) / SIDE));
    for (let row = top ?? 0; row <= (under ?? 0); row++) {
      for (let column = left ?? 0; column <= (right ?? 0); column++) {
        tiles.get(`${column} ${row}`)?.changed.add(name);
      }
    }
  }

  /** Draw tiles for this view, as long as the budget lasts. Returns whether all of them are sharp. */
  sharpen(view: View, ratio: number, isAtRest: boolean): boolean {
    if (ratio !== this.ratio) this.restart(ratio);
    if (view.scale !== this.now.scale) {
      if (this.now.tiles.size > 0) this.old = this.now;
      this.now = { scale: view.scale, tiles: new Map() };
    }
    const end = performance.now() + (isAtRest ? RESTING_MS : MOVING_MS);
    for (const [column, row] of around(view, view.scale)) {
      const key = `${column} ${row}`;
      const tile = this.now.tiles.get(key);
      if (tile?.version === this.version && tile.changed.size === 0) continue;
      if (performance.now() > end) return false;
      if (tile === undefined || !this.isMended(tile, column, row)) {
        this.now.tiles.set(key, this.drawn(tile, column, row));
      }
    }
    this.old = { scale: 1, tiles: new Map() };
    this.forget();
    return true;
  }

  /** Put what is kept onto the canvas, moved and scaled as the view is. */
  paint(context: CanvasRenderingContext2D, view: View, isAtRest: boolean): void {
    this.frame++;
    // What moves is not looked at closely, and smooth edges take twice as long.
    context.imageSmoothingEnabled = isAtRest;
    for (const kept of [this.old, this.now]) {
      const factor = view.scale / kept.scale;
      const side = SIDE * factor;
      for (const [column, row] of shownBy(view, kept.scale)) {
        const tile = kept.tiles.get(`${column} ${row}`);
        if (tile === undefined) continue;
        tile.used = this.frame;
        context.drawImage(tile.canvas, view.x + column * side, view.y + row * side, side, side);
      }
    }
  }

  private restart(ratio: number): void {
    this.ratio = ratio;
    this.now = { scale: 1, tiles: new Map() };
    this.old = this.now;
  }

  /** Draw only what has changed in a tile. Returns whether that is enough. */
  private isMended(tile: Tile, column: number, row: number): boolean {
    const context = tile.version === this.version ? tile.canvas.getContext("2d") : null;
    if (context === null) return false;
    const isDone = this.draw.some(context, column * SIDE, row * SIDE, this.now.scale, tile.changed);
    if (isDone) tile.changed.clear();
    return isDone;
  }

  private drawn(before: Tile | undefined, column: number, row: number): Tile {
    const canvas = before?.canvas ?? document.createElement("canvas");
    canvas.width = canvas.height = Math.round(SIDE * this.ratio);
    const context = canvas.getContext("2d");
    if (context !== null) {
      context.scale(this.ratio, this.ratio);
      context.translate(-column * SIDE, -row * SIDE);
      this.draw.whole(context, column * SIDE, row * SIDE, this.now.scale);
    }
    return { canvas, version: this.version, used: this.frame, changed: new Set() };
  }

  /** Let go of those that were not shown for the longest time. */
  private forget(): void {
    const { tiles } = this.now;
    if (tiles.size <= MOST) return;
    const oldest = [...tiles].sort(([, one], [, other]) => one.used - other.used).slice(0, tiles.size - MOST);
    for (const [key] of oldest) tiles.delete(key);
  }
}

/** The tiles of a scale that a view shows. */
function shownBy({ x, y, scale, width, height }: View, tileScale: number): (readonly [number, number])[] {
  const side = (SIDE * scale) / tileScale;
  const found: (readonly [number, number])[] = [];
  for (let row = Math.floor(-y / side); row * side + y < height; row++) {
    for (let column = Math.floor(-x / side); column * side + x < width; column++) found.push([column, row]);
    if (found.length > MOST * 4) break;
  }
  return found;
}

/** The same, from the middle outwards. */
export function around(view: View, tileScale: number): (readonly [number, number])[] {
  const { x, y, scale, width, height } = view;
  const side = (SIDE * scale) / tileScale;
  const away = ([column, row]: readonly [number, number]): number =>
    Math.hypot((column + 0.5) * side + x - width / 2, (row + 0.5) * side + y - height / 2);
  return shownBy(view, tileScale).sort((one, other) => away(one) - away(other));
}
