/** One answer, and below it the answers of what it depends on. */

import type { ComponentChildren } from "preact";
import { answerAddress, halves, kindOf, planAddress } from "../address.ts";
import { whyCommand } from "../command.ts";
import { comparisonOf } from "../comparison.ts";
import { factsOf } from "../facts.ts";
import { copy, save } from "../files.ts";
import { printable } from "../printable.ts";
import { about } from "../state.ts";
import type { Answer, PodCount } from "../wire.ts";
import { ComparisonTable, Places, Turns } from "./comparison.tsx";
import { ObjectName, Said, State, Time } from "./text.tsx";

const SOURCES: Readonly<Record<Answer["source"], string>> = {
  Status: "from the object itself",
  Plan: "from a stored plan",
  Engine: "from the search, asked for this answer",
};

interface CardProps {
  readonly answer: Answer;
  /** 0 for the answer that was asked for. */
  readonly depth: number;
  /** Its link. */
  readonly address: string;
}

export function AnswerCard({ answer, depth, address }: CardProps) {
  const [namespace, name] = halves(answer.name, "/");
  return (
    <article class="answer" aria-label={printable(`${answer.kind} ${answer.name}`)}>
      <div class="head">
        {depth > 0 && (
          <Heading depth={depth}>
            <a href={address}>
              <span class="kind">{answer.kind}</span> <ObjectName namespace={namespace} name={name} />
            </a>
          </Heading>
        )}
        <Verdict answer={answer} />
        <Actions answer={answer} namespace={namespace} name={name} address={address} />
      </div>
      <p class="sentence">
        <Said text={answer.sentence} />
      </p>
      <Facts answer={answer} />
      <Lists answer={answer} depth={depth} />
      <Where answer={answer} depth={depth} />
      {answer.triedAgain !== "" && (
        <Part title="Tried again" depth={depth}>
          <p>
            <Said text={answer.triedAgain} />
          </p>
        </Part>
      )}
      {answer.depends.length > 0 && <Depends answers={answer.depends} depth={depth} />}
    </article>
  );
}

/** Headings of answers inside answers go down to the sixth level. */
function Heading({ depth, children }: { readonly depth: number; readonly children: ComponentChildren }) {
  if (depth <= 1) return <h2>{children}</h2>;
  return depth === 2 ? <h3>{children}</h3> : <h4>{children}</h4>;
}

function Verdict({ answer }: { readonly answer: Answer }) {
  return (
    <p class="verdict">
      <State state={answer.state} waits={answer.waits} />
      {answer.since !== "" && (
        <span class="quiet">
          since <Time time={answer.since} />
        </span>
      )}
      <span class="quiet">{SOURCES[answer.source]}</span>
    </p>
  );
}

interface PartProps {
  readonly title: string;
  readonly depth: number;
  readonly children: ComponentChildren;
}

function Part({ title, depth, children }: PartProps) {
  return (
    <section class="part">
      <Heading depth={depth + 1}>{title}</Heading>
      {children}
    </section>
  );
}

function Lists({ answer, depth }: { readonly answer: Answer; readonly depth: number }) {
  const lists: readonly (readonly [string, readonly string[]])[] = [
    ["Missing", answer.missing],
    ["Waits for", answer.waitsFor],
    ["Would help", answer.wouldHelp],
    ["Stays", answer.stays],
    ["Notes", answer.notes],
    ["Not modelled", answer.notModelled],
  ];
  return (
    <>
      {lists
        .filter(([, lines]) => lines.length > 0)
        .map(([title, lines]) => (
          <Part key={title} title={title} depth={depth}>
            <ul>
              {lines.map((line, at) => (
                <li key={at}>
                  <Said text={line} />
                </li>
              ))}
            </ul>
          </Part>
        ))}
    </>
  );
}

function Where({ answer, depth }: { readonly answer: Answer; readonly depth: number }) {
  const comparison = comparisonOf(answer.decision);
  const turns = answer.decision?.turns ?? [];
  return (
    <>
      {(comparison !== null || answer.places.length > 0) && (
        <Part title="Where" depth={depth}>
          {comparison === null ? <Places places={answer.places} /> : <ComparisonTable comparison={comparison} />}
        </Part>
      )}
      {turns.length > 0 && (
        <Part title="Turns of the clusters" depth={depth}>
          <Turns turns={turns} />
        </Part>
      )}
    </>
  );
}

function Facts({ answer }: { readonly answer: Answer }) {
  const facts = factsOf(answer);
  if (facts.length === 0 && answer.plan === "" && answer.podSets.length === 0) return null;
  return (
    <dl class="facts">
      {facts.map(({ name, value, address }) => (
        <div key={name}>
          <dt>
            <Said text={name} />
          </dt>
          <dd>{address === undefined ? <Said text={value} /> : <QueueLink address={address} name={value} />}</dd>
        </div>
      ))}
      {answer.podSets.map((set) => (
        <PodSetLine key={set.name} set={set} />
      ))}
      {answer.plan !== "" && (
        <div>
          <dt>plan</dt>
          <dd>
            <PlanLink plan={answer.plan} />
          </dd>
        </div>
      )}
    </dl>
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

function QueueLink({ address, name }: { readonly address: string; readonly name: string }) {
  return (
    <a href={address}>
      <Said text={name} />
    </a>
  );
}

function PodSetLine({ set }: { readonly set: PodCount }) {
  return (
    <div>
      <dt>
        quota for pods of pod set <Said text={set.name} />
      </dt>
      <dd>{set.count === set.askedCount ? set.count : `${set.count} of ${set.askedCount}`}</dd>
    </div>
  );
}

interface ActionProps {
  readonly answer: Answer;
  readonly namespace: string;
  readonly name: string;
  readonly address: string;
}

function Actions({ answer, namespace, name, address }: ActionProps) {
  const command = whyCommand(kindOf(answer.kind), namespace, name, about.value?.command ?? "");
  const link = (): string => new URL(address, window.location.href).href;
  return (
    <p class="actions">
      <button type="button" onClick={() => void copy(command)} title={command}>
        Copy as command
      </button>
      <button type="button" onClick={() => void copy(link())}>
        Copy link
      </button>
      <button type="button" onClick={() => save(`${kindOf(answer.kind)}-${answer.name}`, answer)}>
        Save as JSON
      </button>
    </p>
  );
}

function Depends({ answers, depth }: { readonly answers: readonly Answer[]; readonly depth: number }) {
  return (
    <section class="depends" aria-label="What it depends on">
      <p class="quiet">It depends on:</p>
      {answers.map((each) => {
        const [namespace, name] = halves(each.name, "/");
        const address = answerAddress(kindOf(each.kind), namespace, name);
        return <AnswerCard key={`${each.kind} ${each.name}`} answer={each} depth={depth + 1} address={address} />;
      })}
    </section>
  );
}
