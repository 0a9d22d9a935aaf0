/**
 * The colours of the map: 8 hues times 2 patterns for gangs, grey for the others.
 *
 * All of them have 3:1 from the light and from the dark paper, and differ for people with any kind of colour blindness
 * (`test/map_palette.test.ts` computes it). Nothing is said by colour alone: the pattern says what room it is.
 */

export const HUES = ["#4163a1", "#c6105e", "#809e07", "#a041fe", "#845a03", "#03a596", "#d3736a", "#a283c5"];
export const GREY = "#666666";
/** Of gangs with a colour of their own. */
export const SLOTS = 2 * HUES.length;
/** In place of a slot: a gang without a colour of its own, and pods without a gang. */
export const OTHERS = -1;

/** What a room is. */
export type Tone = "used" | "leaving" | "promised" | "anonymous";

/** Colours of the page, as the theme and the system have them. */
export interface Inks {
  readonly ink: string;
  readonly paper: string;
  readonly hair: string;
  readonly quiet: string;
  readonly focus: string;
  /** Colours are forced: gangs have patterns alone. */
  readonly isForced: boolean;
}

/** A ground, and lines over it that repeat after PERIOD pixels. */
export interface Paint {
  readonly ground: string;
  readonly lines: string;
  /** The path of the lines (SVG); empty for none. */
  readonly path: string;
  readonly width: number;
  readonly name: string;
}

export const PERIOD = 6;
const SLANTED = "M-1 1l2-2M0 6l6-6M5 7l2-2";
const CROSSED = `${SLANTED}M-1 5l2 2M0 0l6 6M5-1l2 2`;
const DOTS = "M1.5 1.5h.01M4.5 4.5h.01";
const BARS = "M0 1.5h6";

export function hueOf(slot: number): string {
  return HUES[slot % HUES.length] ?? GREY;
}

/** The pattern by which gangs of one hue differ. */
export function patternOf(slot: number): "plain" | "barred" {
  return slot >= HUES.length ? "barred" : "plain";
}

export function paintOf(tone: Tone, slot: number, inks: Inks): Paint {
  const hue = inks.isForced ? inks.ink : slot === OTHERS ? GREY : hueOf(slot);
  const name = `${tone}-${slot === OTHERS ? "others" : slot}`;
  if (tone === "anonymous") return { name: tone, ground: inks.paper, lines: inks.quiet, path: CROSSED, width: 1 };
  if (tone === "promised") return { name, ground: inks.paper, lines: hue, path: SLANTED, width: 1.4 };
  if (tone === "leaving") return { name, ground: hue, lines: inks.paper, path: DOTS, width: 2 };
  const isBarred = slot !== OTHERS && patternOf(slot) === "barred";
  return { name, ground: hue, lines: inks.paper, path: isBarred ? BARS : "", width: 1.5 };
}

/** Which gang has which slot. Those that still matter keep theirs. `wanted`: by importance. */
export function assigned(before: ReadonlyMap<string, number>, wanted: readonly string[]): Map<string, number> {
  const most = wanted.slice(0, SLOTS);
  const kept = new Map(most.flatMap((gang) => (before.has(gang) ? [[gang, before.get(gang) ?? 0] as const] : [])));
  const taken = new Set(kept.values());
  const free = Array.from({ length: SLOTS }, (_, slot) => slot).filter((slot) => !taken.has(slot));
  return new Map(most.map((gang) => [gang, kept.get(gang) ?? free.shift() ?? 0]));
}
