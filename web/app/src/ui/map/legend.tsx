/** What patterns and colours mean. A gang is brought out by its line. */

import type { MapChoice } from "../../address.ts";
import { amountText } from "../../map/amounts.ts";
import type { LegendLine } from "../../map/drawn.ts";
import { gangKey } from "../../map/gangs.ts";
import { type Inks, OTHERS, PERIOD, paintOf, type Tone } from "../../map/palette.ts";
import type { Level } from "../../map/shapes.ts";
import { TONES } from "../../map/svg.ts";
import { ObjectName } from "../text.tsx";
import { choose } from "./map.tsx";

/** From far away, gangs have no colours, and fewer of them are named. */
const FEW = 8;

/** What the patterns say. */
export function Tones({ inks }: { readonly inks: Inks | null }) {
  if (inks === null) return null;
  return (
    <ul class="map-legend" aria-label="Patterns">
      {TONES.map(([tone, name]) => (
        <li key={tone}>
          <Swatch tone={tone} slot={OTHERS} inks={inks} /> {name}
        </li>
      ))}
      <li>
        <svg class="map-swatch" viewBox="0 0 14 14" aria-hidden="true">
          <rect x="0.5" y="0.5" width="13" height="13" fill={inks.paper} stroke={inks.quiet} />
        </svg>{" "}
        free
      </li>
    </ul>
  );
}

interface Props {
  readonly level: Level;
  readonly lines: readonly LegendLine[];
  readonly choice: MapChoice;
  readonly resource: string;
  readonly inks: Inks | null;
}

/** The gangs that have colours. */
export function Gangs({ level, lines, choice, resource, inks }: Props) {
  if (inks === null || lines.length === 0) return null;
  return (
    <ul class="map-legend map-gangs" aria-label="The largest gangs in view. Press one to bring it out.">
      {(level === "far" ? lines.slice(0, FEW) : lines).map((line) => {
        const key = gangKey(line.namespace, line.name);
        const isChosen = key === choice.gang;
        return (
          <li key={key}>
            <button
              type="button"
              aria-pressed={isChosen}
              onClick={() => choose({ ...choice, gang: isChosen ? "" : key })}
            >
              {(level !== "far" || isChosen) && <Swatch tone="used" slot={line.slot} inks={inks} />}{" "}
              <ObjectName namespace={line.namespace} name={line.name} />{" "}
              <span class="quiet">{amountText(resource, line.amount)}</span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}

interface SwatchProps {
  readonly tone: Tone;
  readonly slot: number;
  readonly inks: Inks;
}

/** A small square of that look. */
function Swatch({ tone, slot, inks }: SwatchProps) {
  const paint = paintOf(tone, slot, inks);
  const id = `swatch-${paint.name}`;
  return (
    <svg class="map-swatch" viewBox="0 0 14 14" aria-hidden="true">
      {paint.path !== "" && (
        <pattern id={id} width={PERIOD} height={PERIOD} patternUnits="userSpaceOnUse">
          <rect width={PERIOD} height={PERIOD} fill={paint.ground} />
          <path d={paint.path} fill="none" stroke={paint.lines} stroke-width={paint.width} stroke-linecap="round" />
        </pattern>
      )}
      <rect
        x="0.5"
        y="0.5"
        width="13"
        height="13"
        fill={paint.path === "" ? paint.ground : `url(#${id})`}
        stroke={inks.quiet}
      />
    </svg>
  );
}
