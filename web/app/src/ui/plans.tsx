/** All stored plans: for whom they are, what they do to others, and how they ended. */

import { useState } from "preact/hooks";
import { answerAddress, kindOf, type PlanFilters, planAddress, plansAddress } from "../address.ts";
import { PLANS, storedCommand } from "../command.ts";
import { narrowedPlans } from "../plans.ts";
import { about, answer } from "../state.ts";
import { grouped } from "../waiting.ts";
import type { PlanRow, Plans } from "../wire.ts";
import { NamespaceForm } from "./namespaces.tsx";
import { Missing } from "./notices.tsx";
import { PanelActions } from "./panel.tsx";
import { PlanFilterBar } from "./plan_filters.tsx";
import { Standing, Vain } from "./plan_words.tsx";
import { Refused } from "./refused.tsx";
import { ObjectName, Said, Time, Word } from "./text.tsx";
import { useTitle } from "./title.ts";
import { useLoader } from "./use_loader.ts";

const LEAST_MS = 1000;
/** Rows that come into the document at a time. */
const STEP = 200;

export function PlansView({ filters }: { readonly filters: PlanFilters }) {
  const title = useTitle("Plans");
  const loader = useLoader<Plans>((signal) => answer<Plans>("plans", { signal }), LEAST_MS);
  const found = loader.answer.value;
  const refusal = loader.refusal.value;
  return (
    <>
      <div class="head">
        <h1 ref={title} tabIndex={-1}>
          Plans
        </h1>
        <p class="quiet summary" role="status">
          {found !== null && <Summary plans={found} filters={filters} />}
        </p>
        {found !== null && (
          <PanelActions
            command={storedCommand(PLANS, about.value)}
            address={plansAddress(filters)}
            name="plans"
            value={found}
          />
        )}
      </div>
      <NamespaceForm />
      {refusal !== null && <Refused refusal={refusal} hasOld={found !== null} />}
      {found === null && refusal === null && <p class="quiet">Loading…</p>}
      {found !== null && <Content plans={found} filters={filters} />}
    </>
  );
}

function Summary({ plans, filters }: { readonly plans: Plans; readonly filters: PlanFilters }) {
  const shown = narrowedPlans(plans.plans, filters).length;
  if (plans.oldestPlan === null) return null;
  return (
    <>
      {shown === plans.plans.length ? grouped(shown) : `${grouped(shown)} of ${grouped(plans.plans.length)}`} · the
      oldest one was made at <Time time={plans.oldestPlan} />
      {shown < plans.plans.length && (
        <>
          . <a href={plansAddress()}>Show everything</a>
        </>
      )}
    </>
  );
}

function Content({ plans, filters }: { readonly plans: Plans; readonly filters: PlanFilters }) {
  const rows = narrowedPlans(plans.plans, filters);
  return (
    <>
      <PlanFilterBar plans={plans.plans} filters={filters} />
      <Missing rights={plans.missing} />
      {rows.length > 0 && <Rows rows={rows} />}
      {plans.plans.length > 0 && rows.length === 0 && <p class="empty">No plan matches these filters.</p>}
      {plans.plans.length === 0 && <p class="empty">{emptiness()}</p>}
    </>
  );
}

function emptiness(): string {
  const seen = about.value?.namespaces;
  const where = seen === undefined || seen.all ? "" : " in the namespaces that you may see";
  return `No plan is stored${where}. Plans are kept for a time only.`;
}

function Rows({ rows }: { readonly rows: readonly PlanRow[] }) {
  const [most, setMost] = useState(STEP);
  return (
    <>
      <table class="lines wraps">
        <caption class="unseen">Stored plans: what goes on comes first, and then the newest</caption>
        <thead>
          <tr>
            <th scope="col">for</th>
            <th scope="col">plan</th>
            <th scope="col">standing</th>
            <th scope="col">decided</th>
            <th scope="col">what it does</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, most).map((row) => (
            <Line key={`${row.kind} ${row.namespace}/${row.name}`} row={row} />
          ))}
        </tbody>
      </table>
      {rows.length > most && (
        <p>
          <button type="button" onClick={() => setMost(most + STEP)}>
            Show {grouped(Math.min(STEP, rows.length - most))} more
          </button>
        </p>
      )}
    </>
  );
}

function Line({ row }: { readonly row: PlanRow }) {
  const { kind, namespace, name, priority } = row.preemptor;
  return (
    <tr>
      <th scope="row">
        <a href={answerAddress(kindOf(kind), namespace, name)}>
          <span class="kind">{kind}</span> <ObjectName namespace={namespace} name={name} />
        </a>
        <span class="quiet small beside">priority {priority}</span>
      </th>
      <td data-title="plan">
        <a href={planAddress(row.namespace, row.name)}>
          <Said text={row.name} />
        </a>
      </td>
      <td data-title="standing">
        <Standing row={row} /> <Word text={row.phase} />
      </td>
      <td data-title="decided">
        <Time time={row.decided} />
      </td>
      <td data-title="what it does" class="reason">
        <Said text={row.sentence} /> <Vain inVain={row.inVain} />
        {row.end !== "" && (
          <p class="quiet">
            <Said text={row.end} />
          </p>
        )}
      </td>
    </tr>
  );
}
