/** The chart of evictions: a bar for each span of time, with its series one upon the other. */

import type { Chart } from "../history.ts";
import { HEIGHT, lines, look, type Piece, PLOT, pieces, timeOf, WIDTH } from "../history_picture.ts";
import { grouped } from "../waiting.ts";
import { Said } from "./text.tsx";

const HUES = [0, 1, 2, 3, 4];

export function HistoryChart({ chart }: { readonly chart: Chart }) {
  const sum = chart.spans.reduce((all, span) => all + span.total, 0);
  return (
    <figure class="chart">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`${grouped(sum)} victims in ${chart.spans.length} spans of time, at most ${grouped(chart.most)} in one. The table below has the numbers.`}
      >
        <defs>
          {HUES.map((hue) => (
            <pattern key={hue} id={`hatch${hue}`} width="6" height="6" patternUnits="userSpaceOnUse">
              <path class={`hue${hue}`} d="M0 6 6 0" />
            </pattern>
          ))}
        </defs>
        {lines(chart).map(({ y, count }) => (
          <g key={count} class="axis">
            <path d={`M${PLOT.left} ${y}H${PLOT.right}`} />
            <text x={PLOT.left - 6} y={y + 4}>
              {count}
            </text>
          </g>
        ))}
        {pieces(chart).map((piece, at) => (
          <Bar key={at} piece={piece} />
        ))}
      </svg>
      <p class="ends quiet small">
        <span>{timeOf(chart.spans[0]?.begin)}</span>
        <span>{timeOf(chart.spans.at(-1)?.end)}</span>
      </p>
      <figcaption>
        <ul class="marks">
          {chart.series.map((name, at) => (
            <li key={name}>
              <svg viewBox="0 0 14 14" width="14" height="14" aria-hidden="true">
                <Bar piece={{ series: at, x: 1, y: 1, width: 12, height: 12 }} />
              </svg>{" "}
              <Said text={name} />
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}

function Bar({ piece: { series, x, y, width, height } }: { readonly piece: Piece }) {
  const { hue, hatched } = look(series);
  return (
    <rect
      class={`hue${hue} ${hatched ? "hatched" : "plain"}`}
      x={x}
      y={y}
      width={width}
      height={height}
      fill={hatched ? `url(#hatch${hue})` : undefined}
    />
  );
}
