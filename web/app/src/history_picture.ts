/** The chart of evictions as shapes, for the page and for a file of SVG. */

import { type Chart, MOST_SERIES, ticks } from "./history.ts";
import { xml } from "./plan_picture.ts";
import { utc } from "./times.ts";

export const WIDTH = 720;
export const HEIGHT = 200;
const LEFT = 44;
const BOTTOM = 8;
const TOP = 10;
const GAP = 0.18;
/** Series differ by colour, and each second one by lines, too. */
const COLOURS = ["#1d4ed8", "#9a3412", "#166534", "#86198f"];
const OTHERS = "#555a60";

export interface Piece {
  readonly series: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** The parts of all bars, from below. */
export function pieces(chart: Chart): Piece[] {
  const top = ticks(chart.most).at(-1) ?? 1;
  const step = (WIDTH - LEFT) / chart.spans.length;
  const scale = (HEIGHT - TOP - BOTTOM) / top;
  const found: Piece[] = [];
  for (const [at, span] of chart.spans.entries()) {
    let y = HEIGHT - BOTTOM;
    for (const [series, count] of span.counts.entries()) {
      if (count === 0) continue;
      y -= count * scale;
      found.push({ series, x: LEFT + at * step + (step * GAP) / 2, y, width: step * (1 - GAP), height: count * scale });
    }
  }
  return found;
}

export interface Line {
  readonly y: number;
  readonly count: number;
}

/** The lines of the axis. */
export function lines(chart: Chart): Line[] {
  const found = ticks(chart.most);
  const top = found.at(-1) ?? 1;
  const scale = (HEIGHT - TOP - BOTTOM) / top;
  return found.map((count) => ({ count, y: HEIGHT - BOTTOM - count * scale }));
}

/** How a series is drawn: which of the colours, and whether with lines. */
export function look(series: number): { readonly hue: number; readonly hatched: boolean } {
  if (series >= MOST_SERIES) return { hue: COLOURS.length, hatched: false };
  return { hue: Math.floor(series / 2), hatched: series % 2 === 1 };
}

export const PLOT = { left: LEFT, right: WIDTH };

/** The chart as a file. */
export function historyPicture(chart: Chart, by: string): string {
  const legend = HEIGHT + 48;
  const height = legend + 20 * chart.series.length + 12;
  const bars = pieces(chart)
    .map(({ series, x, y, width, height: high }) => rect(series, x, y, width, high))
    .join("");
  const axis = lines(chart)
    .map(
      ({ y, count }) =>
        `<path d="M${LEFT} ${fixed(y)}H${WIDTH}" stroke="#dfe1e4"/>` +
        `<text x="${LEFT - 6}" y="${fixed(y + 4)}" text-anchor="end">${count}</text>`,
    )
    .join("");
  const names = chart.series
    .map((name, at) => {
      const top = legend + 20 * at;
      return `${rect(at, LEFT, top - 10, 14, 12)}<text x="${LEFT + 22}" y="${top}">${xml(name)}</text>`;
    })
    .join("");
  const title = `Victims in time, by: ${by}`;
  const hatches = [...COLOURS, OTHERS].map(hatch).join("");
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH + 16}" height="${height}" ` +
    `viewBox="0 0 ${WIDTH + 16} ${height}" font-family="sans-serif" font-size="12" fill="#1a1a1a" role="img">` +
    `<title>${xml(title)}</title><defs>${hatches}</defs><rect width="100%" height="100%" fill="#ffffff"/>` +
    `${axis}${bars}<text x="${LEFT}" y="${HEIGHT + 14}">${xml(timeOf(chart.spans[0]?.begin))}</text>` +
    `<text x="${WIDTH}" y="${HEIGHT + 14}" text-anchor="end">${xml(timeOf(chart.spans.at(-1)?.end))}</text>` +
    `<text x="${LEFT}" y="${HEIGHT + 32}" font-weight="600">${xml(title)}</text>${names}</svg>\n`
  );
}

function rect(series: number, x: number, y: number, width: number, height: number): string {
  const { hue, hatched } = look(series);
  const colour = COLOURS[hue] ?? OTHERS;
  const fill = hatched ? `url(#hatch${hue})` : colour;
  return (
    `<rect x="${fixed(x)}" y="${fixed(y)}" width="${fixed(width)}" height="${fixed(height)}" ` +
    `fill="${fill}" stroke="${colour}"/>`
  );
}

function hatch(colour: string, hue: number): string {
  return (
    `<pattern id="hatch${hue}" width="6" height="6" patternUnits="userSpaceOnUse">` +
    `<path d="M0 6 6 0" stroke="${colour}" stroke-width="1.5"/></pattern>`
  );
}

/** A moment in words. `time`: in milliseconds since 1970. */
export function timeOf(time: number | undefined): string {
  return time === undefined ? "" : utc(new Date(time).toISOString());
}

function fixed(value: number): string {
  return String(Math.round(value * 100) / 100);
}
