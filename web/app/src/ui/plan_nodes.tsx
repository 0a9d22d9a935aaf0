/** The nodes that a plan names: what stands there before it and after it, as small pictures and as names. */

import { useState } from "preact/hooks";
import { saveSvg } from "../files.ts";
import { planPicture } from "../plan_picture.ts";
import { after, before, FORMS, MARKS, type Mark, type Square } from "../plans.ts";
import { printable } from "../printable.ts";
import type { PlannedNode, PlanRow } from "../wire.ts";
import { More, Some } from "./plan_tables.tsx";
import { Said } from "./text.tsx";

const FIRST = 50;
const STEP = 14;
const A_LINE = 16;

interface Props {
  readonly plan: PlanRow;
  readonly nodes: readonly PlannedNode[];
}

export function PlanNodes({ plan, nodes }: Props) {
  const [most, setMost] = useState(FIRST);
  const known = nodes.every((node) => node.staying !== null);
  const name = `${plan.namespace}/${plan.name}`;
  return (
    <>
      <p class="quiet">
        {known
          ? "Only the nodes that the plan names are shown."
          : "Only what the plan names is shown. What else stood on these nodes at that moment is not known."}
      </p>
      <Legend />
      <table class="lines wraps">
        <thead>
          <tr>
            <th scope="col">node</th>
            <th scope="col">before</th>
            <th scope="col">after</th>
          </tr>
        </thead>
        <tbody>
          {nodes.slice(0, most).map((node) => (
            <tr key={node.name}>
              <th scope="row">
                <Said text={node.name} />
              </th>
              <td data-title="before">
                <Bar squares={before(node)} />
                <Names title="leaves" names={node.leaving} />
                {node.staying !== null && <Names title="stays" names={node.staying} />}
              </td>
              <td data-title="after">
                <Bar squares={after(node)} />
                <Names title="comes" names={node.coming} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <More most={most} of={nodes.length} onMore={setMost} />
      <p class="actions">
        <button type="button" onClick={() => saveSvg(`plan-${name}-nodes`, planPicture(`Plan ${name}`, nodes))}>
          Save as SVG
        </button>
      </p>
    </>
  );
}

function Legend() {
  return (
    <ul class="marks">
      {MARKS.map(([mark, words]) => (
        <li key={mark}>
          <svg class="squares" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
            <Form mark={mark} />
          </svg>{" "}
          {words}
        </li>
      ))}
    </ul>
  );
}

/** A square for each pod. */
function Bar({ squares }: { readonly squares: readonly Square[] }) {
  if (squares.length === 0) return <span class="quiet">nothing that is known</span>;
  const lines = Math.ceil(squares.length / A_LINE);
  const width = STEP * Math.min(squares.length, A_LINE);
  return (
    <svg
      class="squares"
      viewBox={`0 0 ${width} ${STEP * lines}`}
      width={width}
      height={STEP * lines}
      role="img"
      aria-label={spoken(squares)}
    >
      {squares.map(({ mark, pod }, at) => (
        <g key={at} transform={`translate(${STEP * (at % A_LINE)} ${STEP * Math.floor(at / A_LINE)})`}>
          {pod !== "" && <title>{printable(pod)}</title>}
          <Form mark={mark} />
        </g>
      ))}
    </svg>
  );
}

function Form({ mark }: { readonly mark: Mark }) {
  return (
    <g class={mark}>
      <rect x="0.5" y="0.5" width="11" height="11" />
      <path d={FORMS.get(mark)} />
    </g>
  );
}

/** Such as `3 pods stay, 2 pods leave`. */
function spoken(squares: readonly Square[]): string {
  const count = (mark: Mark): number => squares.filter((each) => each.mark === mark).length;
  return MARKS.filter(([mark]) => count(mark) > 0)
    .map(([mark, words]) => (mark === "others" ? words : `${words}: ${count(mark)}`))
    .join(", ");
}

function Names({ title, names }: { readonly title: string; readonly names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <p class="small">
      <span class="quiet">{title}:</span> <Some names={names} />
    </p>
  );
}
