/** Where each node stands. One unit is the side of a node. A node keeps its place while the page is open. */

export interface Place {
  readonly x: number;
  readonly y: number;
}

export interface Block {
  /** The value of the label; null for nodes that do not have it. */
  readonly value: string | null;
  /** Of the first node. The title stands above it. */
  readonly x: number;
  readonly y: number;
  readonly columns: number;
  /** The names of the nodes, row by row; empty for a place that is free again. */
  readonly cells: readonly string[];
}

export interface Layout {
  readonly blocks: readonly Block[];
  readonly places: ReadonlyMap<string, Place>;
  readonly width: number;
  readonly height: number;
}

export interface Named {
  readonly name: string;
  readonly block: string | null;
}

/** The part of a node's square that stays free on each side. */
export const MARGIN = 0.06;
const TITLE = 0.8;
const GAP = 0.5;
/** Width by height, about that of a window. */
const SHAPE = 1.7;

/** The places of these nodes, in their order. `before`: where they stood until now. */
export function layOut(nodes: readonly Named[], before: Layout | null): Layout {
  const groups = new Map<string | null, string[]>();
  for (const { name, block } of nodes) {
    const names = groups.get(block);
    if (names === undefined) groups.set(block, [name]);
    else names.push(name);
  }
  if (before === null) return flow([], groups, 0);
  const kept = before.blocks.map((block) => withGone(block, groups.get(block.value) ?? []));
  const filled = kept.map((block) => withNew(block, groups));
  return flow(filled, groups, filled.length > 0 ? before.width : 0);
}

/** Whether exactly these nodes stand there, each in its block. */
export function isPlaced(layout: Layout, nodes: readonly Named[]): boolean {
  const blocks = new Map<string, string | null>();
  for (const { value, cells } of layout.blocks) for (const name of cells) if (name !== "") blocks.set(name, value);
  return blocks.size === nodes.length && nodes.every(({ name, block }) => blocks.get(name) === block);
}

/** The block without the nodes that are gone. */
function withGone(block: Block, names: readonly string[]): Block {
  const there = new Set(names);
  return { ...block, cells: block.cells.map((name) => (there.has(name) ? name : "")) };
}

/** The block with new nodes where it has free places. Takes those that have a place out of `groups`. */
function withNew(block: Block, groups: Map<string | null, string[]>): Block {
  const placed = new Set(block.cells);
  const rest = (groups.get(block.value) ?? []).filter((name) => !placed.has(name));
  const size = Math.ceil(block.cells.length / block.columns) * block.columns;
  const cells = Array.from({ length: size }, (_, at) => block.cells[at] || rest.shift() || "");
  while (cells.length > block.cells.length && cells[cells.length - 1] === "") cells.pop();
  groups.set(block.value, rest);
  return { ...block, cells };
}

/** These blocks, and below them blocks for all that have no place yet. */
function flow(blocks: readonly Block[], groups: ReadonlyMap<string | null, string[]>, width: number): Layout {
  const sizes = [...groups].filter(([, names]) => names.length > 0).map(([value, names]) => sized(value, names));
  const area = sizes.reduce((sum, { columns, rows }) => sum + (columns + GAP) * (rows + TITLE + GAP), 0);
  const widest = Math.max(width, Math.sqrt(area * SHAPE), ...sizes.map(({ columns }) => columns));
  const made = [...blocks];
  let x = 0;
  let y = Math.max(0, ...blocks.map((block) => bottom(block) + GAP));
  let tallest = 0;
  for (const { value, cells, columns, rows } of sizes) {
    if (x > 0 && x + columns > widest) {
      x = 0;
      y += tallest + TITLE + GAP;
      tallest = 0;
    }
    made.push({ value, cells, columns, x, y: y + TITLE });
    x += columns + GAP;
    tallest = Math.max(tallest, rows);
  }
  return finished(made);
}

function sized(value: string | null, cells: readonly string[]) {
  const columns = Math.ceil(Math.sqrt(cells.length * SHAPE));
  return { value, cells, columns, rows: Math.ceil(cells.length / columns) };
}

function bottom(block: Block): number {
  return block.y + Math.ceil(block.cells.length / block.columns);
}

function finished(blocks: readonly Block[]): Layout {
  const places = new Map<string, Place>();
  for (const block of blocks) {
    block.cells.forEach((name, at) => {
      if (name !== "") places.set(name, placeIn(block, at));
    });
  }
  return {
    blocks,
    places,
    width: Math.max(1, ...blocks.map((block) => block.x + block.columns)),
    height: Math.max(1, ...blocks.map(bottom)),
  };
}

function placeIn(block: Block, at: number): Place {
  return { x: block.x + (at % block.columns), y: block.y + Math.floor(at / block.columns) };
}

/** The node at this point; empty if none is there. */
export function nodeAt(layout: Layout, x: number, y: number): string {
  for (const block of layout.blocks) {
    const column = Math.floor(x - block.x);
    const row = Math.floor(y - block.y);
    if (column >= 0 && column < block.columns && row >= 0) {
      const name = block.cells[row * block.columns + column];
      if (name) return name;
    }
  }
  return "";
}

/** The names of the nodes in this rectangle, block by block. */
export function* namesIn(layout: Layout, left: number, top: number, right: number, under: number) {
  for (const block of layout.blocks) {
    if (block.x > right || block.x + block.columns < left || block.y > under || bottom(block) < top) continue;
    const first = Math.max(0, Math.floor(left - block.x));
    const last = Math.min(block.columns - 1, Math.floor(right - block.x));
    const rows = Math.ceil(block.cells.length / block.columns);
    for (let row = Math.max(0, Math.floor(top - block.y)); row < rows && block.y + row <= under; row++) {
      for (let column = first; column <= last; column++) {
        const name = block.cells[row * block.columns + column];
        if (name) yield name;
      }
    }
  }
}

const STEPS = new Map<string, readonly [number, number]>([
  ["ArrowLeft", [-1, 0]],
  ["ArrowRight", [1, 0]],
  ["ArrowUp", [0, -1]],
  ["ArrowDown", [0, 1]],
]);

/** The next node in the direction of an arrow key; the same one if there is none, empty if it is no such key. */
export function neighbour(layout: Layout, name: string, key: string): string {
  const step = STEPS.get(key);
  if (step === undefined) return "";
  const here = layout.places.get(name);
  if (here === undefined) return layout.places.keys().next().value ?? "";
  const [dx, dy] = step;
  let best = name;
  let least = Number.POSITIVE_INFINITY;
  for (const [other, { x, y }] of layout.places) {
    const along = (x - here.x) * dx + (y - here.y) * dy;
    const aside = Math.abs((x - here.x) * dy) + Math.abs((y - here.y) * dx);
    if (along < 0.5 || along + 3 * aside >= least) continue;
    best = other;
    least = along + 3 * aside;
  }
  return best;
}
