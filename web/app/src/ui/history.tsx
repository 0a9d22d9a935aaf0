/** Evictions in time, as far back as plans are kept: a chart, and tables with the same data. */

import { useMemo, useState } from "preact/hooks";
import { answerAddress, evictedAddress, halves, historyAddress, kindOf, planAddress } from "../address.ts";
import { EVICTING_PLANS, storedCommand } from "../command.ts";
import { saveSvg } from "../files.ts";
import { BYS, type By, type Chart, chartOf } from "../history.ts";
import { historyPicture } from "../history_picture.ts";
import { about, answer } from "../state.ts";
import { grouped } from "../waiting.ts";
import type { Eviction, Evictions } from "../wire.ts";
import { Choice } from "./choice.tsx";
import { HistoryChart } from "./history_chart.tsx";
import { NamespaceForm } from "./namespaces.tsx";
import { Missing } from "./notices.tsx";
import { PanelActions } from "./panel.tsx";
import { More } from "./plan_tables.tsx";
import { Vain } from "./plan_words.tsx";
import { Refused } from "./refused.tsx";
import { ObjectName, Said, Time, Word } from "./text.tsx";
import { useTitle } from "./title.ts";
import { useLoader } from "./use_loader.ts";

const LEAST_MS = 2000;
const FIRST = 50;

export function HistoryView({ by }: { readonly by: By }) {
  const title = useTitle("History");
  const loader = useLoader<Evictions>((signal) => answer<Evictions>("evictions", { signal }), LEAST_MS);
  const found = loader.answer.value;
  const refusal = loader.refusal.value;
  return (
    <>
      <div class="head">
        <h1 ref={title} tabIndex={-1}>
          History
        </h1>
        <p class="quiet summary">Evictions by plans. What kube-scheduler evicts without a plan is not among them.</p>
        {found !== null && (
          <PanelActions
            command={storedCommand(EVICTING_PLANS, about.value)}
            address={historyAddress(by)}
            name="evictions"
            value={found}
          />
        )}
      </div>
      <NamespaceForm />
      {refusal !== null && <Refused refusal={refusal} hasOld={found !== null} />}
      {found === null && refusal === null && <p class="quiet">Loading…</p>}
      {found !== null && <Content found={found} by={by} />}
    </>
  );
}

function Content({ found, by }: { readonly found: Evictions; readonly by: By }) {
  const chart = useMemo(() => chartOf(found.evictions, by, found.moment), [found, by]);
  return (
    <>
      <Missing rights={found.missing} />
      <p>
        {found.oldestPlan === null ? (
          "No plan is stored that evicts or has evicted, so no eviction is known."
        ) : (
          <>
            The oldest plan that evicts, or did so, is of <Time time={found.oldestPlan} />. Plans are kept for a time,
            so earlier evictions are not known.
          </>
        )}
      </p>
      <Asking />
      {found.evictions.length === 0 && found.oldestPlan !== null && (
        <p class="empty">No plan has evicted anybody since then.</p>
      )}
      {chart !== null && <ChartPart chart={chart} by={by} />}
      {found.evictions.length > 0 && <List evictions={found.evictions} />}
    </>
  );
}

/** Leads to the view of one object, which may be gone. */
function Asking() {
  const [name, setName] = useState("");
  const [namespace, own] = halves(name.trim(), "/");
  const asked = (event: SubmitEvent): void => {
    event.preventDefault();
    if (namespace !== "" && own !== "") window.location.hash = evictedAddress(namespace, own);
  };
  return (
    <form class="filters asking" onSubmit={asked}>
      <label class="wide">
        <span>Who evicted a pod, a gang or a Workload, which may be gone? NAMESPACE/NAME</span>
        <input
          type="text"
          spellcheck={false}
          autocapitalize="off"
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={namespace === "" || own === ""}>
        Look
      </button>
    </form>
  );
}

function ChartPart({ chart, by }: { readonly chart: Chart; readonly by: By }) {
  const words = BYS.find(([each]) => each === by)?.[1] ?? "";
  return (
    <section class="part" aria-labelledby="in-time">
      <h2 id="in-time">Victims in time</h2>
      <div class="filters asking">
        <Choice
          title="By"
          value={by}
          options={BYS}
          onChange={(chosen) => window.location.replace(historyAddress(chosen as By))}
        />
        <p class="actions">
          <button type="button" onClick={() => saveSvg(`evictions-by-${by}`, historyPicture(chart, words))}>
            Save as SVG
          </button>
        </p>
      </div>
      <HistoryChart chart={chart} />
      {chart.timeless > 0 && <p class="quiet">{grouped(chart.timeless)} victims have no time, and are not in it.</p>}
      <details>
        <summary>The same as a table</summary>
        <ChartTable chart={chart} />
      </details>
    </section>
  );
}

function ChartTable({ chart }: { readonly chart: Chart }) {
  return (
    <table class="lines wraps">
      <thead>
        <tr>
          <th scope="col">from</th>
          <th scope="col">until</th>
          {chart.series.map((name) => (
            <th key={name} scope="col" class="number">
              <Said text={name} />
            </th>
          ))}
          <th scope="col" class="number">
            all
          </th>
        </tr>
      </thead>
      <tbody>
        {chart.spans
          .filter((span) => span.total > 0)
          .map((span) => (
            <tr key={span.begin}>
              <th scope="row">
                <Time time={new Date(span.begin).toISOString()} />
              </th>
              <td data-title="until">
                <Time time={new Date(span.end).toISOString()} />
              </td>
              {span.counts.map((count, at) => (
                <td key={chart.series[at]} class="number" data-title={chart.series[at]}>
                  {grouped(count)}
                </td>
              ))}
              <td class="number" data-title="all">
                {grouped(span.total)}
              </td>
            </tr>
          ))}
      </tbody>
    </table>
  );
}

function List({ evictions }: { readonly evictions: readonly Eviction[] }) {
  const [most, setMost] = useState(FIRST);
  return (
    <section class="part" aria-labelledby="each-one">
      <h2 id="each-one">Each of them</h2>
      <table class="lines wraps">
        <thead>
          <tr>
            <th scope="col">since</th>
            <th scope="col">of namespace</th>
            <th scope="col">victims</th>
            <th scope="col">rule</th>
            <th scope="col">for</th>
            <th scope="col">plan</th>
          </tr>
        </thead>
        <tbody>
          {evictions.slice(0, most).map((each) => (
            <Line key={`${each.plan} ${each.namespace} ${each.rule}`} eviction={each} />
          ))}
        </tbody>
      </table>
      <More most={most} of={evictions.length} onMore={setMost} />
    </section>
  );
}

function Line({ eviction }: { readonly eviction: Eviction }) {
  const { time, namespace, units, pods, rule, preemptor, plan, phase, inVain } = eviction;
  const [space, name] = halves(preemptor.name, "/");
  return (
    <tr>
      <th scope="row">{time === "" ? "not known" : <Time time={time} />}</th>
      <td data-title="of namespace">{namespace === "" ? "another one" : <Said text={namespace} />}</td>
      <td data-title="victims">
        {grouped(units)}
        {pods > 0 && ` with ${grouped(pods)} ${pods === 1 ? "pod" : "pods"}`}
      </td>
      <td data-title="rule">
        <Word text={rule} />
      </td>
      <td data-title="for">
        <a href={answerAddress(kindOf(preemptor.kind), space, name)}>
          <span class="kind">{preemptor.kind}</span> <ObjectName namespace={space} name={name} />
        </a>
      </td>
      <td data-title="plan">
        <a href={planAddress(...halves(plan, "/"))}>
          <Said text={halves(plan, "/")[1]} />
        </a>{" "}
        <Word text={phase} /> <Vain inVain={inVain} />
      </td>
    </tr>
  );
}
