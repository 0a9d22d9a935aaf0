/** Bars beside numbers. They say nothing that the numbers do not say, so screen readers skip them. */

import type { ComponentChildren } from "preact";
import { barsSvg } from "../bars.ts";
import { saveSvg } from "../files.ts";
import { type BarRow, longest, type Part } from "../report.ts";

export const VICTIMS_KEY =
  "Bars are victims in pods. Filled: the scheduler's that served nobody. Outlined: the scheduler's others. Below: ours.";
const HEIGHT = 10;

/** The bars of one of these rows. */
export function Bars({ row, rows }: { readonly row: BarRow; readonly rows: readonly BarRow[] }) {
  const whole = longest(rows);
  return (
    <>
      {row.bars.map((bar, at) => (
        <Bar key={at} bar={bar} whole={whole} />
      ))}
    </>
  );
}

function Bar({ bar, whole }: { readonly bar: readonly Part[]; readonly whole: number }) {
  let left = 0;
  const parts = bar
    .filter((part) => part.number > 0)
    .map((part) => {
      const width = (100 * part.number) / whole;
      const found = { kind: part.kind, left, width };
      left += width;
      return found;
    });
  return (
    <svg class="portion" viewBox={`0 0 100 ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {parts.map((part) => (
        <rect
          key={part.kind}
          class={part.kind}
          x={part.left.toFixed(2)}
          y="1"
          width={part.width.toFixed(2)}
          height={HEIGHT - 2}
        />
      ))}
    </svg>
  );
}

interface PartProps {
  readonly title: string;
  /** Of the file. */
  readonly name: string;
  readonly rows: readonly BarRow[];
  readonly children: ComponentChildren;
}

/** A part of a report whose bars can be stored as a picture. */
export function BarsPart({ title, name, rows, children }: PartProps) {
  return (
    <section class="part">
      <div class="head">
        <h2>{title}</h2>
        <button
          type="button"
          onClick={() => saveSvg(`report-${name}`, barsSvg(title, KEYS.get(name) ?? VICTIMS_KEY, rows))}
        >
          Save as SVG
        </button>
      </div>
      {children}
    </section>
  );
}

const KEYS = new Map([["waits", "Preemptors by the time until they were bound"]]);
