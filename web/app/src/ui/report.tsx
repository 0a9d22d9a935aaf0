/** What the scheduler did instead: the answer, what is not known, and then the numbers. */

import type { ComponentChildren } from "preact";
import { command } from "../command.ts";
import { sumsOf, victimsOf, waitsOf } from "../report.ts";
import { type ReportQuestion, reportAddress, reportOptions, reportPath } from "../report_question.ts";
import { about, answer } from "../state.ts";
import type { Report } from "../wire.ts";
import { Bars, BarsPart, VICTIMS_KEY } from "./bars.tsx";
import { PanelActions } from "./panel.tsx";
import { Refused } from "./refused.tsx";
import { CostTable, Decisions } from "./report_decisions.tsx";
import { ReportForm } from "./report_form.tsx";
import { GangRows, RowsBy } from "./report_rows.tsx";
import { Said, Time } from "./text.tsx";
import { useTitle } from "./title.ts";
import { useLoader } from "./use_loader.ts";

const LEAST_MS = 5000;

/** The question stays the same: another one is another view. */
export function ReportView({ question }: { readonly question: ReportQuestion }) {
  const title = useTitle("Report");
  const loader = useLoader<Report>((signal) => answer<Report>(reportPath(question), { signal }), LEAST_MS);
  const report = loader.answer.value;
  const refusal = loader.refusal.value;
  return (
    <>
      <div class="head">
        <h1 ref={title} tabIndex={-1}>
          What the scheduler did instead
        </h1>
        {report !== null && (
          <PanelActions
            command={command("report", reportOptions(question), about.value?.reads ?? "")}
            address={reportAddress(question)}
            name="report"
            value={report}
          />
        )}
      </div>
      <ReportForm question={question} />
      {refusal !== null && <Refused refusal={refusal} hasOld={report !== null} />}
      {report === null && refusal === null && <p class="quiet">Loading…</p>}
      {report !== null && <Content report={report} question={question} />}
    </>
  );
}

interface Props {
  readonly report: Report;
  readonly question: ReportQuestion;
}

function Content({ report, question }: Props) {
  return (
    <>
      <p class="sentence">
        <Said text={report.answer} />
      </p>
      <p class="quiet small">
        Made at <Time time={report.asOf} />
        {report.namespace !== null && (
          <>
            , for preemptors of the namespace <Said text={report.namespace} />
          </>
        )}
        .
      </p>
      {report.alsoKnown.map((each) => (
        <p key={each}>
          <Said text={each} />
        </p>
      ))}
      {report.total.decisions > 0 && <Numbers report={report} question={question} />}
    </>
  );
}

function Numbers({ report, question }: Props) {
  return (
    <>
      <Part title="What is not known">
        <ul>
          {report.notKnown.map((each) => (
            <li key={each}>
              <Said text={each} />
            </li>
          ))}
        </ul>
      </Part>
      <Part title="In all">
        <dl class="facts">
          {sumsOf(report).map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </Part>
      {report.total.compared > 0 && <CostTable costs={report.costs} />}
      <Days report={report} question={question} />
      <Waits report={report} />
      <BarsPart title="By namespace of the preemptor" name="namespaces" rows={report.namespaces.map(victimsOf)}>
        <p class="quiet small">The dearest namespaces first. {VICTIMS_KEY}</p>
        <RowsBy what="namespace" rows={report.namespaces} address={(name) => ofNamespace(question, name)} />
      </BarsPart>
      {report.by !== "day" && report.by !== "namespace" && (
        <BarsPart title={`By ${report.by} of the preemptor`} name={report.by} rows={report.rows.map(victimsOf)}>
          <p class="quiet small">{VICTIMS_KEY}</p>
          <RowsBy what={report.by} rows={report.rows} address={() => ""} />
        </BarsPart>
      )}
      <Decisions report={report} question={question} />
    </>
  );
}

/** Namespaces without a row of their own have no page of their own. */
function ofNamespace(question: ReportQuestion, name: string): string {
  return name === "other namespaces" ? "" : reportAddress({ ...question, namespace: name, day: "" });
}

function Days({ report, question }: Props) {
  const address = (day: string): string => reportAddress({ ...question, day: question.day === day ? "" : day });
  return (
    <BarsPart title="By day" name="days" rows={report.days.map(victimsOf)}>
      <p class="quiet small">
        A decision counts for the day on which it was made. Days without decisions are left out. {VICTIMS_KEY}
      </p>
      <RowsBy what="day" rows={report.days} address={address} chosen={question.day} brief={true} />
      <h3>Gangs in pieces, and broken groups</h3>
      <GangRows rows={report.days} address={address} chosen={question.day} />
    </BarsPart>
  );
}

function Waits({ report }: { readonly report: Report }) {
  const rows = waitsOf(report);
  return (
    <BarsPart title="Time until bound" name="waits" rows={rows}>
      <p class="quiet small">
        From the first decision until the scheduler had bound the preemptor. When our gangs would have run is not known.
      </p>
      <table class="lines">
        <thead>
          <tr>
            <th scope="col">time</th>
            <th scope="col" class="number">
              preemptors
            </th>
            <th scope="col">
              <span class="unseen">bar</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <th scope="row">{row.name}</th>
              <td data-title="preemptors" class="number">
                {row.said}
              </td>
              <td class="bars">
                <Bars row={row} rows={rows} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </BarsPart>
  );
}

export function Part({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="part">
      <h2>{title}</h2>
      {children}
    </section>
  );
}
