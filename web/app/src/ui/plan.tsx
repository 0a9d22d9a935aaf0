/** One plan: what it is, how far it has come, whom it takes room from, and why it is this one. */

import type { ComponentChildren } from "preact";
import { ALL_PLANS, answerAddress, kindOf, planAddress, plansAddress } from "../address.ts";
import { planPath } from "../client.ts";
import { planCommand } from "../command.ts";
import { comparisonOf } from "../comparison.ts";
import { printable } from "../printable.ts";
import { about, answer } from "../state.ts";
import type { PhaseOfPlan, PlanAnswer } from "../wire.ts";
import { ComparisonTable, Turns } from "./comparison.tsx";
import { Missing } from "./notices.tsx";
import { PanelActions } from "./panel.tsx";
import { PlanNodes } from "./plan_nodes.tsx";
import { Clusters, Staying, Victims } from "./plan_tables.tsx";
import { Standing, Vain } from "./plan_words.tsx";
import { Refused } from "./refused.tsx";
import { ObjectName, Said, Time, Word } from "./text.tsx";
import { useTitle } from "./title.ts";
import { useLoader } from "./use_loader.ts";

const LEAST_MS = 2000;

interface Props {
  readonly namespace: string;
  readonly name: string;
}

export function PlanView({ namespace, name }: Props) {
  const title = useTitle(`Plan ${printable(`${namespace}/${name}`)}`);
  const loader = useLoader<PlanAnswer>((signal) => answer<PlanAnswer>(planPath(namespace, name), { signal }), LEAST_MS);
  const found = loader.answer.value;
  const refusal = loader.refusal.value;
  return (
    <>
      <nav class="path" aria-label="Path">
        <a href={plansAddress()}>Plans</a> <span aria-hidden="true">›</span>{" "}
        <a href={plansAddress({ ...ALL_PLANS, namespace })}>
          <Said text={namespace} />
        </a>
      </nav>
      <div class="head">
        <h1 ref={title} tabIndex={-1}>
          <span class="kind">Plan</span> <ObjectName namespace={namespace} name={name} />
        </h1>
      </div>
      {refusal !== null && <Refused refusal={refusal} hasOld={found !== null} />}
      {found === null && refusal === null && <p class="quiet">Loading…</p>}
      {found !== null && <Card found={found} />}
    </>
  );
}

function Card({ found }: { readonly found: PlanAnswer }) {
  const { plan } = found;
  const comparison = comparisonOf(found.decision);
  const isUnreal = plan.standing === "Observed" || plan.standing === "Proposed";
  return (
    <article class="answer" aria-label={printable(`Plan ${plan.namespace}/${plan.name}`)}>
      <div class="head">
        <p class="verdict">
          <Standing row={plan} /> <Word text={plan.phase} />
          {plan.since !== "" && (
            <span class="quiet">
              since <Time time={plan.since} />
            </span>
          )}
        </p>
        <Actions found={found} />
      </div>
      <p class="sentence">
        <Said text={plan.sentence} /> <Vain inVain={plan.inVain} />
      </p>
      <Facts found={found} />
      <Missing rights={found.missing} />
      {found.instead !== null && (
        <Part title="What the scheduler did instead">
          <Lines lines={found.instead.sentences} />
        </Part>
      )}
      <Part title="Phases">
        <Phases phases={found.phases} />
      </Part>
      {found.victims.length > 0 && (
        <Part title={isUnreal ? "Victims, if it were carried out" : "Victims"}>
          <Victims victims={found.victims} />
        </Part>
      )}
      {found.staying !== null && (
        <Part title="Who stays">
          <Staying units={found.staying.units} others={found.staying.others} />
        </Part>
      )}
      {found.nodes.length > 0 && (
        <Part title="Its nodes before and after">
          <PlanNodes plan={plan} nodes={found.nodes} />
        </Part>
      )}
      {comparison !== null && (
        <Part title="Where">
          <ComparisonTable comparison={comparison} />
        </Part>
      )}
      {found.turns.length > 0 && (
        <Part title="Turns of the clusters">
          <Turns turns={found.turns} />
          <Clusters turn={found.turns.at(-1)} />
        </Part>
      )}
      {found.notes.length > 0 && (
        <Part title="Notes">
          <Lines lines={found.notes} />
        </Part>
      )}
    </article>
  );
}

function Part({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="part">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

function Lines({ lines }: { readonly lines: readonly string[] }) {
  return (
    <ul>
      {lines.map((line, at) => (
        <li key={at}>
          <Said text={line} />
        </li>
      ))}
    </ul>
  );
}

function Facts({ found }: { readonly found: PlanAnswer }) {
  const { plan, decision } = found;
  const { kind, namespace, name, priority } = plan.preemptor;
  return (
    <dl class="facts">
      <Fact name="for">
        <a href={answerAddress(kindOf(kind), namespace, name)}>
          <span class="kind">{kind}</span> <ObjectName namespace={namespace} name={name} />
        </a>
      </Fact>
      <Fact name="priority">{priority}</Fact>
      {plan.outcome !== "" && (
        <Fact name="outcome">
          <Word text={plan.outcome} />
        </Fact>
      )}
      {plan.cluster !== "" && (
        <Fact name="cluster">
          <Said text={plan.cluster} />
        </Fact>
      )}
      {decision?.reason && (
        <Fact name="reason">
          <Said text={decision.reason} />
        </Fact>
      )}
      {found.evictor !== "" && (
        <Fact name="who evicts">
          <Said text={found.evictor} />
        </Fact>
      )}
      {found.confirmed !== "" && (
        <Fact name="who confirmed it">
          <Said text={found.confirmed} />
        </Fact>
      )}
      {plan.end !== "" && (
        <Fact name="its end">
          <Said text={plan.end} />
        </Fact>
      )}
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Phases({ phases }: { readonly phases: readonly PhaseOfPlan[] }) {
  return (
    <ol class="phases">
      {phases.map(({ name, time, reason, message, isLast }) => (
        <li key={name} aria-current={isLast ? "step" : undefined}>
          <strong>
            <Word text={name} />
          </strong>{" "}
          {time !== "" && (
            <span class="quiet">
              <Time time={time} />
            </span>
          )}{" "}
          {reason !== "" && <Word text={reason} />} {message !== "" && <Said text={message} />}
        </li>
      ))}
    </ol>
  );
}

function Actions({ found }: { readonly found: PlanAnswer }) {
  const { kind, namespace, name } = found.plan;
  return (
    <PanelActions
      command={planCommand(kind, namespace, name, about.value)}
      address={planAddress(namespace, name)}
      name={`plan-${namespace}-${name}`}
      value={found}
    />
  );
}
