/**
 * Kept pictures of parts of the map. While the map moves, frames draw kept tiles; at rest they are drawn sharp again, a
 * few milliseconds a frame.
 */

/** The side of a tile in pixels: a whole number of periods of the patterns, so that they meet. */
export const SIDE = 384;
const MOST = 96;
/** How long a frame may draw tiles. */
const BUDGET_MS = 6;

interface Tile {
  readonly canvas: HTMLCanvasElement;
  version: number;
  used: number;
}

export interface View {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
  readonly width: number;
  readonly height: number;
}

/** Draws what is between these pixels, counted from the first unit of the map at this scale. */
export type Draw = (context: CanvasRenderingContext2D, left: number, top: number, scale: number) => void;

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

  /** What is in this unit of the map looks different now. */
  invalidateAt(x: number, y: number): void {
    const { scale, tiles } = this.now;
    const [left, top, right, under] = [x, y, x + 1, y + 1].map((each) => Math.floor((each * scale) / SIDE));
    for (let row = top ?? 0; row <= (under ?? 0); row++) {
      for (let column = left ?? 0; column <= (right ?? 0); column++) {
        const tile = tiles.get(`${column} ${row}`);
        if (tile !== undefined) tile.version = -1;
      }
    }
  }

  /** Draw tiles for this view, as long as the budget lasts. Returns whether all of them are sharp. */
  sharpen(view: View, ratio: number): boolean {
    if (ratio !== this.ratio) this.restart(ratio);
    if (view.scale !== this.now.scale) {
      if (this.now.tiles.size > 0) this.old = this.now;
      this.now = { scale: view.scale, tiles: new Map() };
    }
    const end = performance.now() + BUDGET_MS;
    for (const [column, row] of around(view, view.scale)) {
      const key = `${column} ${row}`;
      const tile = this.now.tiles.get(key);
      if (tile?.version === this.version) continue;
      if (performance.now() > end) return false;
      this.now.tiles.set(key, this.drawn(tile, column, row));
    }
    this.old = { scale: 1, tiles: new Map() };
    this.forget();
    return true;
  }

  /** Put what is kept onto the canvas, moved and scaled as the view is. */
  paint(context: CanvasRenderingContext2D, view: View): void {
    this.frame++;
    for (const kept of [this.old, this.now]) {
      const factor = view.scale / kept.scale;
      const side = SIDE * factor;
      for (const [column, row] of around(view, kept.scale)) {
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

  private drawn(before: Tile | undefined, column: number, row: number): Tile {
    const canvas = before?.canvas ?? document.createElement("canvas");
    canvas.width = canvas.height = Math.round(SIDE * this.ratio);
    const context = canvas.getContext("2d");
    if (context !== null) {
      context.scale(this.ratio, this.ratio);
      context.translate(-column * SIDE, -row * SIDE);
      this.draw(context, column * SIDE, row * SIDE, this.now.scale);
    }
    return { canvas, version: this.version, used: this.frame };
  }

  /** Let go of those that were not shown for the longest time. */
  private forget(): void {
    const { tiles } = this.now;
    if (tiles.size <= MOST) return;
    const oldest = [...tiles].sort(([, one], [, other]) => one.used - other.used).slice(0, tiles.size - MOST);
    for (const [key] of oldest) tiles.delete(key);
  }
}

/** The tiles of a scale that a view shows, from the middle outwards. */
export function around({ x, y, scale, width, height }: View, tileScale: number): (readonly [number, number])[] {
  const side = (SIDE * scale) / tileScale;
  const found: (readonly [number, number])[] = [];
  for (let row = Math.floor(-y / side); row * side + y < height; row++) {
    for (let column = Math.floor(-x / side); column * side + x < width; column++) found.push([column, row]);
    if (found.length > MOST * 4) break;
  }
  const away = ([column, row]: readonly [number, number]): number =>
    Math.hypot((column + 0.5) * side + x - width / 2, (row + 0.5) * side + y - height / 2);
  return found.sort((one, other) => away(one) - away(other));
}
