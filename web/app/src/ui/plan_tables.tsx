/** The tables of a plan: victims, who stays, and what worker clusters said. */

import { useState } from "preact/hooks";
import { evictedAddress } from "../address.ts";
import { grouped } from "../waiting.ts";
import type { PlanVictim, StayingUnit, Turn } from "../wire.ts";
import { ObjectName, Said, Word } from "./text.tsx";

const FIRST = 50;
const FEW = 4;

export function Victims({ victims }: { readonly victims: readonly PlanVictim[] }) {
  const [most, setMost] = useState(FIRST);
  const ofQuota = victims.some((each) => each.rule !== null);
  return (
    <>
      <table class="lines wraps">
        <thead>
          <tr>
            <th scope="col">unit</th>
            <th scope="col" class="number">
              priority
            </th>
            {!ofQuota && (
              <th scope="col" class="number">
                pods
              </th>
            )}
            <th scope="col">{ofQuota ? "rule" : "nodes"}</th>
          </tr>
        </thead>
        <tbody>
          {victims.slice(0, most).map((each, at) => (
            <tr key={at}>
              <th scope="row">
                <VictimName victim={each} />
              </th>
              <td class="number" data-title="priority">
                {each.priority ?? "not shown"}
              </td>
              {!ofQuota && (
                <td class="number" data-title="pods">
                  {grouped(each.pods)}
                </td>
              )}
              <td data-title={ofQuota ? "rule" : "nodes"} class="reason">
                {ofQuota ? <Rule victim={each} /> : <Some names={each.nodes} />}
                {each.violatesPodDisruptionBudget && <strong class="vain"> beyond a PodDisruptionBudget</strong>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <More most={most} of={victims.length} onMore={setMost} />
    </>
  );
}

function VictimName({ victim }: { readonly victim: PlanVictim }) {
  if (victim.name === "")
    return (
      <>
        <span class="kind">{victim.kind}</span> of another namespace
      </>
    );
  return (
    <a href={evictedAddress(victim.namespace, victim.name)}>
      <span class="kind">{victim.kind}</span> <ObjectName namespace={victim.namespace} name={victim.name} />
    </a>
  );
}

function Rule({ victim }: { readonly victim: PlanVictim }) {
  return (
    <>
      {victim.rule !== null && <Word text={victim.rule} />}
      {victim.clusterQueue !== null && (
        <>
          , ClusterQueue <Said text={victim.clusterQueue} />
        </>
      )}
    </>
  );
}

interface StayingProps {
  readonly units: readonly StayingUnit[];
  readonly others: boolean;
}

/** Those in the domain of the plan, the nearest to an eviction first. */
export function Staying({ units, others }: StayingProps) {
  const [most, setMost] = useState(FIRST);
  return (
    <>
      {units.length > 0 && (
        <table class="lines wraps">
          <caption>Those with a pod in the domain of the plan, now.</caption>
          <thead>
            <tr>
              <th scope="col">unit</th>
              <th scope="col" class="number">
                priority
              </th>
              <th scope="col" class="number">
                pods
              </th>
              <th scope="col">why it stays</th>
            </tr>
          </thead>
          <tbody>
            {units.slice(0, most).map((each) => (
              <tr key={`${each.kind} ${each.name}`}>
                <th scope="row">
                  <span class="kind">{each.kind}</span> <Said text={each.name} />
                </th>
                <td class="number" data-title="priority">
                  {each.priority}
                </td>
                <td class="number" data-title="pods">
                  {grouped(each.pods)}
                </td>
                <td data-title="why it stays" class="reason">
                  <Said text={each.why} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <More most={most} of={units.length} onMore={setMost} />
      {units.length === 0 && !others && <p>Nobody else runs there.</p>}
      {others && <p>Others that you may not see stay, too.</p>}
    </>
  );
}

/** What the clusters said when the newest turn was given, and what their preemption costs. */
export function Clusters({ turn }: { readonly turn: Turn | undefined }) {
  const clusters = turn?.spec.clusters ?? [];
  if (clusters.length === 0) return null;
  return (
    <table class="lines wraps">
      <caption>What each cluster said before turn {turn?.spec.number}, and what its preemption costs.</caption>
      <thead>
        <tr>
          <th scope="col">cluster</th>
          <th scope="col">said</th>
          {COSTS.map(([title]) => (
            <th key={title} scope="col" class="number">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {clusters.map(({ name, said, cost }) => (
          <tr key={name}>
            <th scope="row">
              <Said text={name} />
            </th>
            <td data-title="said" class="reason">
              {said === "" ? "nothing" : <Said text={said} />}
            </td>
            {COSTS.map(([title, value]) => (
              <td key={title} class="number" data-title={title}>
                {cost === null ? "not known" : grouped(value(cost))}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

type Cost = NonNullable<NonNullable<Turn["spec"]["clusters"]>[number]["cost"]>;

const COSTS: readonly (readonly [string, (cost: Cost) => number])[] = [
  ["highest priority", (cost) => cost.highestVictimPriority],
  ["Workloads", (cost) => cost.workloads],
  ["pods", (cost) => cost.pods],
  ["pod-seconds", (cost) => cost.podSeconds],
];

/** A few of the names, and how many more there are. */
export function Some({ names }: { readonly names: readonly string[] }) {
  return (
    <>
      {names.slice(0, FEW).map((name, at) => (
        <span key={name}>
          {at > 0 && ", "}
          <Said text={name} />
        </span>
      ))}
      {names.length > FEW && ` and ${grouped(names.length - FEW)} more`}
    </>
  );
}

interface MoreProps {
  readonly most: number;
  readonly of: number;
  readonly onMore: (most: number) => void;
}

/** Shows more rows of a table. */
export function More({ most, of, onMore }: MoreProps) {
  if (of <= most) return null;
  return (
    <p>
      <button type="button" onClick={() => onMore(most + 4 * FIRST)}>
        Show more of {grouped(of)}
      </button>
    </p>
  );
}
