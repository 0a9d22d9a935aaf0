/** What is drawn of one node. The canvas, the SVG and the JSON export are made from the same shapes. */

import type { NodePod } from "../wire.ts";
import { ALONE, gangKey } from "./gangs.ts";
import type { Held, Model, Part } from "./model.ts";
import { OTHERS, type Tone } from "./palette.ts";

/** Far: a level. Near: parts by gang. Nearest: pods. */
export type Level = "far" | "near" | "nearest";

/** From this side of a node on, in pixels. */
const NEAR = 20;
const NEAREST = 130;
/** The width of what is there now, beside what is promised. */
const NOW = 0.66;

export function levelOf(side: number): Level {
  return side >= NEAREST ? "nearest" : side >= NEAR ? "near" : "far";
}

/** A part of the square of a node. Its sides go from 0 to 1, from the top left. */
export interface Shape {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly tone: Tone;
  readonly slot: number;
  readonly amount: number;
  /** It is a victim of the plan of the chosen gang. */
  readonly isVictim: boolean;
  /** Something else is brought out. */
  readonly isDim: boolean;
  /** The pod, if it is one. */
  readonly pod: string;
}

/** How all nodes are drawn. */
export interface Look {
  readonly level: Level;
  /** The slot of each gang that matters. */
  readonly slots: ReadonlyMap<number, number>;
  /** The gang that is brought out; ALONE if none is. */
  readonly chosen: number;
  /** The victims of its plan, by name of the node. */
  readonly victims: ReadonlyMap<string, readonly Held[]>;
}

interface Piece {
  readonly tone: Tone;
  readonly slot: number;
  readonly amount: number;
  readonly isVictim: boolean;
  readonly isDim: boolean;
  readonly pod: string;
}

/** `pods`: those of the node, if they are known. */
export function shapesOf(model: Model, node: number, look: Look, pods: readonly NodePod[] | undefined): Shape[] {
  const room = model.room(node);
  const full = Math.max(room.allocatable, room.used + room.anonymous, room.promised);
  if (full <= 0) return [];
  const now = look.level === "nearest" && pods !== undefined ? podPieces(model, pods, look) : pieces(model, node, look);
  if (room.anonymous > 0) now.push(piece("anonymous", OTHERS, room.anonymous, look.chosen !== ALONE));
  const promised = model.promised(node).map((held) => promisedPiece(held, look));
  const width = promised.length > 0 ? NOW : 1;
  return [...stacked(now, 0, width, full), ...stacked(promised, NOW, 1 - NOW, full)];
}

function piece(tone: Tone, slot: number, amount: number, isDim: boolean, isVictim = false, pod = ""): Piece {
  return { tone, slot, amount, isDim, isVictim, pod };
}

/** One above the other, from below. */
function stacked(those: readonly Piece[], x: number, width: number, full: number): Shape[] {
  let y = 1;
  return those
    .filter((each) => each.amount > 0)
    .map((each) => {
      const height = each.amount / full;
      y -= height;
      return { ...each, x, y, width, height };
    });
}

function promisedPiece(held: Held, look: Look): Piece {
  return piece("promised", slotOf(held.gang, look), held.amount, isDim(held.gang, look));
}

function slotOf(gang: number, look: Look): number {
  if (look.level === "far" && gang !== look.chosen) return OTHERS;
  return look.slots.get(gang) ?? OTHERS;
}

function isDim(gang: number, look: Look): boolean {
  return look.chosen !== ALONE && gang !== look.chosen;
}

/** By slot, those without one last. What has the same look is one piece. */
function pieces(model: Model, node: number, look: Look): Piece[] {
  if (look.level === "far" && look.chosen === ALONE) {
    const { used, leaving } = model.room(node);
    return [piece("used", OTHERS, used - leaving, false), piece("leaving", OTHERS, leaving, false)];
  }
  const victims = new Map((look.victims.get(model.room(node).name) ?? []).map((each) => [each.gang, each.amount]));
  const sums = new Map<number, Piece>();
  for (const part of model.parts(node)) {
    for (const each of piecesOf(part, look, victims.get(part.gang) ?? 0)) {
      if (each.amount === 0) continue;
      const key = 8 * each.slot + 4 * Number(each.tone === "used") + 2 * Number(each.isVictim) + Number(each.isDim);
      const known = sums.get(key);
      sums.set(key, known === undefined ? each : { ...known, amount: known.amount + each.amount });
    }
  }
  return [...sums.values()].sort(byLook);
}

function piecesOf(part: Part, look: Look, goes: number): Piece[] {
  const slot = slotOf(part.gang, look);
  const dim = isDim(part.gang, look);
  const leavingVictims = Math.min(goes, part.leaving);
  const victims = Math.min(goes - leavingVictims, part.used - part.leaving);
  return [
    piece("used", slot, part.used - part.leaving - victims, dim),
    piece("leaving", slot, part.leaving - leavingVictims, dim),
    piece("used", slot, victims, false, true),
    piece("leaving", slot, leavingVictims, false, true),
  ];
}

function podPieces(model: Model, pods: readonly NodePod[], look: Look): Piece[] {
  const chosen = model.gangName(look.chosen);
  const { resource } = model.head;
  return pods
    .map((pod) => {
      const gang = pod.gang === "" ? ALONE : model.gangAt(gangKey(pod.namespace, pod.gang));
      const isVictim = chosen !== "" && pod.victimOf === chosen;
      const tone = pod.leaving ? "leaving" : "used";
      const dim = isDim(gang, look) && !isVictim;
      return piece(
        tone,
        slotOf(gang, look),
        pod.requests[resource] ?? 0,
        dim,
        isVictim,
        `${pod.namespace}/${pod.name}`,
      );
    })
    .sort(byLook);
}

function byLook(one: Piece, other: Piece): number {
  const order = (each: Piece): number => (each.slot === OTHERS ? Number.MAX_SAFE_INTEGER : each.slot);
  return (
    order(one) - order(other) ||
    Number(other.isVictim) - Number(one.isVictim) ||
    (one.tone < other.tone ? 1 : one.tone > other.tone ? -1 : 0) ||
    (one.pod < other.pod ? -1 : 1)
  );
}
