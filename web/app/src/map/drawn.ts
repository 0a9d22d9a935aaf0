/** What a picture of the map shows: for files, and for tests. */

import type { NodePod } from "../wire.ts";
import { ALONE } from "./gangs.ts";
import { type Layout, namesIn } from "./layout.ts";
import { type Model, victimsOf } from "./model.ts";
import { hueOf, patternOf, SLOTS } from "./palette.ts";
import { type Level, type Look, levelOf, type Shape, shapesOf } from "./shapes.ts";

/** Where one looks: pixels are `x + scale * units`. */
export interface Eye {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
  readonly width: number;
  readonly height: number;
}

export interface Choice {
  /** NAMESPACE/NAME of the gang that is brought out; empty for none. */
  readonly gang: string;
  /** The node whose panel is open; empty for none. */
  readonly node: string;
  /** Names of the nodes that the search has found. */
  readonly found: ReadonlySet<string>;
}

export interface DrawnNode {
  readonly name: string;
  readonly block: string | null;
  readonly x: number;
  readonly y: number;
  readonly side: number;
  readonly allocatable: number;
  readonly used: number;
  readonly leaving: number;
  readonly promised: number;
  readonly free: number;
  readonly anonymous: number;
  readonly isChosen: boolean;
  readonly isFound: boolean;
  /** The plan of the gang that is brought out gives it members. */
  readonly isPlanned: boolean;
  readonly shapes: readonly Shape[];
}

export interface LegendLine {
  readonly namespace: string;
  readonly name: string;
  readonly hue: string;
  readonly pattern: "plain" | "barred";
  readonly slot: number;
  /** On the nodes in view. */
  readonly amount: number;
}

export interface Drawn {
  readonly topologyKey: string;
  readonly resource: string;
  readonly moment: string;
  readonly level: Level;
  readonly gang: string;
  readonly width: number;
  readonly height: number;
  readonly blocks: readonly { readonly value: string | null; readonly x: number; readonly y: number }[];
  readonly nodes: readonly DrawnNode[];
  readonly legend: readonly LegendLine[];
}

/** The nodes that are seen. */
export function nodesIn(model: Model, layout: Layout, eye: Eye): number[] {
  const { left, top, right, under } = seenBy(eye);
  const found: number[] = [];
  for (const name of namesIn(layout, left, top, right, under)) {
    const node = model.nodeAt(name);
    if (node >= 0) found.push(node);
  }
  return found;
}

function seenBy({ x, y, scale, width, height }: Eye) {
  return { left: -x / scale, top: -y / scale, right: (width - x) / scale, under: (height - y) / scale };
}

/** The gangs that matter: the chosen one, then the largest. `amounts`: see `Model.amounts`. */
export function wantedGangs(model: Model, amounts: Float64Array, chosen: string): string[] {
  const names = largest(model, amounts).map((gang) => model.gangName(gang));
  return model.gangAt(chosen) === ALONE ? names : [chosen, ...names.filter((name) => name !== chosen)];
}

/** As many as have a colour of their own. There are many gangs, and few of them are kept: so not all of them are sorted. */
function largest(model: Model, amounts: Float64Array): number[] {
  const { gangs } = model.stock;
  const before = (one: number, other: number): number =>
    (amounts[other] ?? 0) - (amounts[one] ?? 0) || gangs.compare(one, other);
  const found: number[] = [];
  amounts.forEach((amount, gang) => {
    const last = found[SLOTS - 1];
    if (amount <= 0 || (last !== undefined && before(gang, last) > 0)) return;
    found.push(gang);
    found.sort(before);
    found.length = Math.min(found.length, SLOTS);
  });
  return found;
}

/** How the nodes are drawn. `slots`: by NAMESPACE/NAME of the gang. */
export function lookOf(model: Model, scale: number, slots: ReadonlyMap<string, number>, gang: string): Look {
  const chosen = model.gangAt(gang);
  return {
    level: levelOf(scale),
    slots: new Map([...slots].map(([name, slot]) => [model.gangAt(name), slot])),
    chosen,
    victims: victimsOf(model.planOf(chosen)),
  };
}

/** What the colours mean. */
export function legendOf(model: Model, amounts: Float64Array, slots: ReadonlyMap<string, number>): LegendLine[] {
  const lines: LegendLine[] = [];
  for (const [key, slot] of slots) {
    const gang = model.gangAt(key);
    if (gang === ALONE) continue;
    lines.push({
      namespace: model.gang(gang)?.namespace ?? "",
      name: model.gang(gang)?.name ?? "",
      hue: hueOf(slot),
      pattern: patternOf(slot),
      slot,
      amount: amounts[gang] ?? 0,
    });
  }
  return lines.sort((one, other) => other.amount - one.amount || one.slot - other.slot);
}

/** All that is seen, with its places in pixels. */
export function drawnOf(
  model: Model,
  layout: Layout,
  eye: Eye,
  slots: ReadonlyMap<string, number>,
  choice: Choice,
  podsOf: (name: string) => readonly NodePod[] | undefined,
): Drawn {
  const look = lookOf(model, eye.scale, slots, choice.gang);
  const planned = new Set(model.planOf(look.chosen)?.promised.map(({ node }) => node));
  const nodes = nodesIn(model, layout, eye);
  return {
    topologyKey: model.head.topologyKey,
    resource: model.head.resource,
    moment: model.head.moment,
    level: look.level,
    gang: look.chosen === ALONE ? "" : choice.gang,
    width: eye.width,
    height: eye.height,
    blocks: layout.blocks.map(({ value, x, y }) => ({ value, x: eye.x + eye.scale * x, y: eye.y + eye.scale * y })),
    nodes: nodes.map((node) => {
      const room = model.room(node);
      const place = layout.places.get(room.name) ?? { x: 0, y: 0 };
      return {
        name: room.name,
        block: room.block,
        allocatable: room.allocatable,
        used: room.used,
        leaving: room.leaving,
        promised: room.promised,
        free: room.free,
        anonymous: room.anonymous,
        x: eye.x + eye.scale * place.x,
        y: eye.y + eye.scale * place.y,
        side: eye.scale,
        isChosen: room.name === choice.node,
        isFound: choice.found.has(room.name),
        isPlanned: planned.has(room.name),
        shapes: shapesOf(model, node, look, podsOf(room.name)),
      };
    }),
    legend: look.level === "far" && look.chosen === ALONE ? [] : legendOf(model, model.amounts(nodes), slots),
  };
}
