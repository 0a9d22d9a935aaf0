/** What it cost, and the dearest decisions. */

import { halves, planAddress } from "../address.ts";
import { COSTS, decisionsOf, seconds } from "../report.ts";
import { type ReportQuestion, reportAddress } from "../report_question.ts";
import type { Costs, DearDecision, Report } from "../wire.ts";
import { ObjectName, Said, Time } from "./text.tsx";

export function CostTable({ costs }: { readonly costs: Costs }) {
  const hasMoney = Object.keys(costs.prices).length > 0;
  return (
    <section class="part">
      <h2>What it cost, at most</h2>
      <p class="quiet small">No line counts what another one counts. Work that was in a checkpoint was not lost.</p>
      <table class="lines">
        <thead>
          <tr>
            <th scope="col">what</th>
            <th scope="col" class="number">
              hours of <Said text={costs.resource} />
            </th>
            {hasMoney && (
              <th scope="col" class="number">
                money
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {[...costs.lines, costs.sum].map((line) => (
            <tr key={line.name}>
              <th scope="row">{COSTS.get(line.name) ?? line.name}</th>
              <td data-title="hours" class="number">
                {line.hours.toFixed(2)}
              </td>
              {hasMoney && (
                <td data-title="money" class="number">
                  {line.money}
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface Props {
  readonly report: Report;
  readonly question: ReportQuestion;
}

export function Decisions({ report, question }: Props) {
  const { day } = question;
  const shown = decisionsOf(report, day);
  return (
    <section class="part">
      <h2>The dearest decisions</h2>
      <p class="quiet small">
        {report.dearest.length} of {report.total.compared} that are compared. Those that cost most come first, then
        those for which the scheduler preempted most pods. Victims are pods.
      </p>
      {day !== "" && (
        <p>
          {shown.length} of these {report.dearest.length} are of <Said text={day} />.{" "}
          <a href={reportAddress({ ...question, day: "" })}>Show those of all days</a>
        </p>
      )}
      {shown.length > 0 && <DecisionTable decisions={shown} costs={report.costs} />}
    </section>
  );
}

type Column = readonly [string, (decision: DearDecision) => string];

function columnsOf(costs: Costs): readonly Column[] {
  const found: Column[] = [
    ["priority", (each) => (each.priority === null ? "" : String(each.priority))],
    ["ours", (each) => String(each.ours.pods)],
    ["scheduler's", (each) => String(each.scheduler.pods)],
    ["served nobody", (each) => String(each.scheduler.servedNobody)],
    ["groups broken", (each) => String(each.scheduler.groupsBroken)],
    ["seconds in pieces", (each) => String(each.scheduler.inPiecesSeconds)],
    ["seconds until bound", (each) => seconds(each.scheduler.secondsUntilBound)],
    ["may change", (each) => (each.open ? "yes" : "no")],
    ["hours, at most", (each) => each.cost.hours.toFixed(2)],
  ];
  if (Object.keys(costs.prices).length > 0) found.push(["money, at most", (each) => each.cost.money ?? ""]);
  return found;
}

interface TableProps {
  readonly decisions: readonly DearDecision[];
  readonly costs: Costs;
}

function DecisionTable({ decisions, costs }: TableProps) {
  const columns = columnsOf(costs);
  return (
    <table class="lines">
      <thead>
        <tr>
          <th scope="col">preemptor</th>
          <th scope="col">decided</th>
          {columns.map(([title]) => (
            <th key={title} scope="col" class="number">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {decisions.map((decision, at) => (
          <tr key={at}>
            <th scope="row">
              <DecisionName decision={decision} />
            </th>
            <td data-title="decided">{decision.decided !== "" && <Time time={decision.decided} />}</td>
            {columns.map(([title, of]) => (
              <td key={title} data-title={title} class="number">
                {of(decision)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function DecisionName({ decision }: { readonly decision: DearDecision }) {
  if (decision.preemptor === "") return <span class="quiet">a preemptor of another namespace</span>;
  const [namespace, name] = halves(decision.preemptor, "/");
  return (
    <a href={planAddress(...halves(decision.plan, "/"))}>
      <ObjectName namespace={namespace} name={name} />
    </a>
  );
}
