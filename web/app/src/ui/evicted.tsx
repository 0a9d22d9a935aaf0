/** Who evicted one object, which may be gone: all that `reprieve who-evicted` says. */

import { answerAddress, evictedAddress, halves, historyAddress, kindOf, planAddress } from "../address.ts";
import { evictedPath } from "../client.ts";
import { evictedCommand } from "../command.ts";
import { copy, save } from "../files.ts";
import { printable } from "../printable.ts";
import { about, answer } from "../state.ts";
import type { EvictedBy } from "../wire.ts";
import { Missing } from "./notices.tsx";
import { Refused } from "./refused.tsx";
import { ObjectName, Said, Time, Word } from "./text.tsx";
import { useTitle } from "./title.ts";
import { useLoader } from "./use_loader.ts";

/** It reads all plans that name victims, so it is not asked for more often. */
const LEAST_MS = 10_000;

interface Props {
  readonly namespace: string;
  readonly name: string;
}

export function EvictedView({ namespace, name }: Props) {
  const title = useTitle(`Who evicted ${printable(`${namespace}/${name}`)}`);
  const loader = useLoader<EvictedBy>(
    (signal) => answer<EvictedBy>(evictedPath(namespace, name), { signal }),
    LEAST_MS,
  );
  const found = loader.answer.value;
  const refusal = loader.refusal.value;
  return (
    <>
      <nav class="path" aria-label="Path">
        <a href={historyAddress()}>History</a>
      </nav>
      <div class="head">
        <h1 ref={title} tabIndex={-1}>
          <span class="kind">Who evicted</span> <ObjectName namespace={namespace} name={name} />
        </h1>
        {found !== null && <Actions found={found} namespace={namespace} name={name} />}
      </div>
      {refusal !== null && <Refused refusal={refusal} hasOld={found !== null} />}
      {found === null && refusal === null && <p class="quiet">Loading…</p>}
      {found !== null && <Content found={found} />}
    </>
  );
}

function Content({ found }: { readonly found: EvictedBy }) {
  return (
    <>
      <p class="sentence">{byPlans(found.evictions)}</p>
      <Missing rights={found.missing ?? []} />
      {found.evictions.map((each) => (
        <Eviction key={each.plan} eviction={each} />
      ))}
      {found.byScheduler.map((each, at) => (
        <ByScheduler key={at} preempted={each} />
      ))}
      <p class="quiet">
        {found.oldestPlan === null ? (
          "There is no plan. "
        ) : (
          <>
            The oldest plan that was read is of <Time time={found.oldestPlan} />.{" "}
          </>
        )}
        Plans are kept for a time, so earlier evictions are not known.
      </p>
    </>
  );
}

function byPlans(evictions: EvictedBy["evictions"]): string {
  const all = evictions.length;
  const begun = evictions.filter((each) => each.evictingSince !== null).length;
  if (all === 0) return "No plan that you may see evicts it.";
  if (begun === all) return `It was evicted by ${all === 1 ? "one plan" : `${all} plans`}.`;
  if (begun > 0) return `It was evicted by ${begun} of ${all} plans that name it.`;
  return all === 1 ? "One plan names it, and has evicted nobody." : `${all} plans name it, and have evicted nobody.`;
}

function Eviction({ eviction }: { readonly eviction: EvictedBy["evictions"][number] }) {
  const { plan, phase, evictingSince, preemptor, preemptorRan, victim, rule, reason, planEnd, evictedBy } = eviction;
  const [namespace, name] = halves(plan, "/");
  return (
    <section class="part" aria-label={printable(`Plan ${plan}`)}>
      <h2>
        <a href={planAddress(namespace, name)}>
          <span class="kind">Plan</span> <ObjectName namespace={namespace} name={name} />
        </a>
      </h2>
      <dl class="facts">
        <div>
          <dt>for</dt>
          <dd>
            <a href={answerAddress(kindOf(preemptor.kind), preemptor.namespace, preemptor.name)}>
              <span class="kind">{preemptor.kind}</span>{" "}
              <ObjectName namespace={preemptor.namespace} name={preemptor.name} />
            </a>
            , priority {preemptor.priority}
          </dd>
        </div>
        <div>
          <dt>victim</dt>
          <dd>
            <span class="kind">{victim.kind}</span> <ObjectName namespace={victim.namespace} name={victim.name} />,
            priority {victim.priority}
          </dd>
        </div>
        <div>
          <dt>when</dt>
          <dd>{evictingSince === null ? "not yet: the plan has evicted nobody" : <Time time={evictingSince} />}</dd>
        </div>
        <div>
          <dt>rule</dt>
          <dd>
            <Word text={rule} />
          </dd>
        </div>
        {evictedBy !== null && (
          <div>
            <dt>who evicts</dt>
            <dd>{evictedBy === "Scheduler" ? "kube-scheduler" : "reprieve"}</dd>
          </div>
        )}
        <div>
          <dt>reason</dt>
          <dd>
            <Said text={reason} />
          </dd>
        </div>
        <div>
          <dt>since then</dt>
          <dd>
            {preemptorRan
              ? "the preemptor got the room"
              : planEnd === null
                ? "the plan is carried out"
                : "the plan is over"}{" "}
            (<Word text={phase || "Planned"} />){planEnd !== null && ". "}
            {planEnd !== null && <Said text={planEnd} />}
          </dd>
        </div>
      </dl>
    </section>
  );
}

function ByScheduler({ preempted }: { readonly preempted: EvictedBy["byScheduler"][number] }) {
  const { preemptor, time, message, plan, observed } = preempted;
  return (
    <section class="part" aria-label="kube-scheduler evicted it">
      <h2>kube-scheduler evicted it</h2>
      <dl class="facts">
        <div>
          <dt>for</dt>
          <dd>
            <Said text={preemptor.kind} /> <Said text={preemptor.name ?? preemptor.uid ?? "that is not named"} />
          </dd>
        </div>
        <div>
          <dt>when</dt>
          <dd>{time === null ? "that is not known" : <Time time={time} />}</dd>
        </div>
        <div>
          <dt>plan</dt>
          <dd>{plan === null ? "none of reprieve" : <PlanLink plan={plan} />}</dd>
        </div>
        <div>
          <dt>it says</dt>
          <dd>
            <Said text={message} />
          </dd>
        </div>
        {observed !== null && (
          <div>
            <dt>observed</dt>
            <dd>
              <PlanLink plan={observed.plan} />{" "}
              {observed.namesIt ? "would evict this pod, too" : "would spare this pod"}
            </dd>
          </div>
        )}
      </dl>
    </section>
  );
}

function PlanLink({ plan }: { readonly plan: string }) {
  const [namespace, name] = halves(plan, "/");
  return (
    <a href={planAddress(namespace, name)}>
      <ObjectName namespace={namespace} name={name} />
    </a>
  );
}

function Actions({ found, namespace, name }: Props & { readonly found: EvictedBy }) {
  const command = evictedCommand(namespace, name, about.value?.reads ?? "");
  const link = (): string => new URL(evictedAddress(namespace, name), window.location.href).href;
  return (
    <p class="actions">
      <button type="button" onClick={() => void copy(command)} title={command}>
        Copy as command
      </button>
      <button type="button" onClick={() => void copy(link())}>
        Copy link
      </button>
      <button type="button" onClick={() => save(`who-evicted-${namespace}-${name}`, found)}>
        Save as JSON
      </button>
    </p>
  );
}
