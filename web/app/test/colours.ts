/** How far colours are from each other, as people see them. */

type Three = readonly [number, number, number];

export interface Eye {
  readonly name: string;
  /** From linear RGB to the linear RGB that looks the same to others (Machado, Oliveira, Fernandes 2009; severity 1). */
  readonly rows: readonly [Three, Three, Three];
}

export const EYES: readonly Eye[] = [
  {
    name: "most people",
    rows: [
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ],
  },
  {
    name: "protanopia",
    rows: [
      [0.152286, 1.052583, -0.204868],
      [0.114503, 0.786281, 0.099216],
      [-0.003882, -0.048116, 1.051998],
    ],
  },
  {
    name: "deuteranopia",
    rows: [
      [0.367322, 0.860646, -0.227968],
      [0.280085, 0.672501, 0.047413],
      [-0.01182, 0.04294, 0.968881],
    ],
  },
  {
    name: "tritanopia",
    rows: [
      [1.255528, -0.076749, -0.178779],
      [-0.078411, 0.930809, 0.147602],
      [0.004733, 0.691367, 0.3039],
    ],
  },
];

const XYZ: readonly [Three, Three, Three] = [
  [0.4124564, 0.3575761, 0.1804375],
  [0.2126729, 0.7151522, 0.072175],
  [0.0193339, 0.119192, 0.9503041],
];
const WHITE: Three = [0.95047, 1, 1.08883];

function linear(colour: string): Three {
  const part = (at: number): number => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [part(1), part(3), part(5)];
}

function through(rows: readonly [Three, Three, Three], [a, b, c]: Three): Three {
  const [x, y, z] = rows.map((row) => row[0] * a + row[1] * b + row[2] * c);
  return [x ?? 0, y ?? 0, z ?? 0];
}

/** CIELAB of a colour as this eye sees it. */
export function seen(colour: string, eye: Eye): Three {
  const [r, g, b] = through(eye.rows, linear(colour)).map((part) => Math.min(1, Math.max(0, part)));
  const [x, y, z] = through(XYZ, [r ?? 0, g ?? 0, b ?? 0]).map((part, at) => {
    const share = part / (WHITE[at] ?? 1);
    return share > 216 / 24389 ? Math.cbrt(share) : ((24389 / 27) * share + 16) / 116;
  });
  return [116 * (y ?? 0) - 16, 500 * ((x ?? 0) - (y ?? 0)), 200 * ((y ?? 0) - (z ?? 0))];
}

/** By WCAG 2: 1 to 21. */
export function contrast(one: string, other: string): number {
  const light = (colour: string): number => through(XYZ, linear(colour))[1];
  const [dark = 0, bright = 0] = [light(one), light(other)].sort((a, b) => a - b);
  return (bright + 0.05) / (dark + 0.05);
}

const degrees = (angle: number): number => (angle * 180) / Math.PI;
const sine = (angle: number): number => Math.sin((angle * Math.PI) / 180);
const cosine = (angle: number): number => Math.cos((angle * Math.PI) / 180);

/** CIEDE2000 (Sharma, Wu, Dalal 2005). */
export function difference([l1, a1, b1]: Three, [l2, a2, b2]: Three): number {
  const mean = (Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2;
  const stretch = 1.5 - 0.5 * Math.sqrt(mean ** 7 / (mean ** 7 + 25 ** 7));
  const [c1, c2] = [Math.hypot(a1 * stretch, b1), Math.hypot(a2 * stretch, b2)];
  const hue = (a: number, b: number): number => (degrees(Math.atan2(b, a * stretch)) + 360) % 360;
  const [h1, h2] = [hue(a1, b1), hue(a2, b2)];
  const isGrey = c1 * c2 === 0;
  const turn = h2 - h1;
  const dh = isGrey ? 0 : turn > 180 ? turn - 360 : turn < -180 ? turn + 360 : turn;
  const sum = h1 + h2;
  const h = isGrey ? sum : Math.abs(turn) <= 180 ? sum / 2 : sum < 360 ? (sum + 360) / 2 : (sum - 360) / 2;
  const l = (l1 + l2) / 2;
  const c = (c1 + c2) / 2;
  const t = 1 - 0.17 * cosine(h - 30) + 0.24 * cosine(2 * h) + 0.32 * cosine(3 * h + 6) - 0.2 * cosine(4 * h - 63);
  const sl = 1 + (0.015 * (l - 50) ** 2) / Math.sqrt(20 + (l - 50) ** 2);
  const [dl, dc] = [(l2 - l1) / sl, (c2 - c1) / (1 + 0.045 * c)];
  const dH = (2 * Math.sqrt(c1 * c2) * sine(dh / 2)) / (1 + 0.015 * c * t);
  const rotation = -sine(60 * Math.exp(-(((h - 275) / 25) ** 2))) * 2 * Math.sqrt(c ** 7 / (c ** 7 + 25 ** 7));
  return Math.sqrt(dl ** 2 + dc ** 2 + dH ** 2 + rotation * dc * dH);
}
