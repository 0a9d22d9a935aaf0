/** What would happen if manifests were submitted. They are sent for the answer alone, and kept nowhere. */

import { useRef, useState } from "preact/hooks";
import { whatIfAddress } from "../address.ts";
import { Refusal } from "../client.ts";
import { about, answer } from "../state.ts";
import { changesOf, countOf, mostOf, type NodeChange, runs, summaryOf, whatIfCommand, whyNotSent } from "../what_if.ts";
import type { Answer, Step, WhatIf } from "../wire.ts";
import { NamespaceForm } from "./namespaces.tsx";
import { Missing, Notice } from "./notices.tsx";
import { PanelActions } from "./panel.tsx";
import { WorkloadName } from "./queue_parts.tsx";
import { Refused } from "./refused.tsx";
import { Said, State } from "./text.tsx";
import { useTitle } from "./title.ts";

const TYPE = { "Content-Type": "application/yaml" };

interface Asked {
  /** What was sent. */
  readonly text: string;
  readonly answer: WhatIf;
}

export function WhatIfView() {
  const title = useTitle("What if");
  const [text, setText] = useState("");
  const [asked, setAsked] = useState<Asked | null>(null);
  const [problem, setProblem] = useState<Refusal | string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    const why = whyNotSent(text);
    setProblem(why === "" ? null : why);
    if (why !== "" || isBusy) return;
    setBusy(true);
    try {
      setAsked({ text, answer: await answer<WhatIf>("what-if", { method: "POST", text, headers: TYPE }) });
    } catch (cause) {
      if (!(cause instanceof Refusal)) throw cause;
      setProblem(cause);
      setAsked(null);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <div class="head">
        <h1 ref={title} tabIndex={-1}>
          What if
        </h1>
        <p class="quiet summary" role="status">
          {isBusy ? "Looking…" : asked !== null && summaryOf(asked.answer.steps)}
        </p>
        {asked !== null && (
          <PanelActions
            command={whatIfCommand(asked.text, about.value?.command ?? "")}
            address={whatIfAddress()}
            name="what-if"
            value={asked.answer}
          />
        )}
      </div>
      <NamespaceForm />
      <Manifests text={text} setText={setText} submit={submit} isBusy={isBusy} />
      {typeof problem === "string" && (
        <Notice kind="warn" title="Nothing was sent.">
          {problem}
        </Notice>
      )}
      {problem instanceof Refusal && <Refused refusal={problem} hasOld={false} />}
      {asked !== null && <Result asked={asked} isOld={asked.text !== text} />}
    </>
  );
}

interface ManifestsProps {
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly submit: () => Promise<void>;
  readonly isBusy: boolean;
}

function Manifests({ text, setText, submit, isBusy }: ManifestsProps) {
  const file = useRef<HTMLInputElement>(null);
  const take = async (files: FileList | null | undefined): Promise<void> => {
    const read = await Promise.all([...(files ?? [])].map((each) => each.text()));
    if (read.length > 0) setText(read.join("\n---\n"));
  };
  return (
    <form
      class="manifests"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void take(event.dataTransfer?.files);
      }}
    >
      <label>
        <span>Manifests: YAML or JSON. Paste them, or drop files here.</span>
        <textarea
          rows={12}
          spellcheck={false}
          autocomplete="off"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void submit();
          }}
        />
      </label>
      <p class="actions">
        <button type="submit" class="main" disabled={isBusy}>
          What would happen?
        </button>
        <button type="button" onClick={() => file.current?.click()}>
          Choose files
        </button>
        <input
          ref={file}
          type="file"
          class="unseen"
          tabIndex={-1}
          aria-hidden="true"
          multiple
          accept=".yaml,.yml,.json"
          onChange={(event) => void take(event.currentTarget.files)}
        />
      </p>
      <p class="quiet small">
        Nothing is submitted and nothing is kept: the server looks at the manifests for this answer alone. At most 1
        MiB, 100 objects and 10,000 pods. Objects without a namespace are in <code>default</code>.
      </p>
    </form>
  );
}

function Result({ asked, isOld }: { readonly asked: Asked; readonly isOld: boolean }) {
  const { steps, missing } = asked.answer;
  return (
    <>
      {isOld && (
        <Notice kind="info" title="The manifests have changed since.">
          The answer is about those that were sent.
        </Notice>
      )}
      <Missing rights={missing ?? []} />
      {steps.length > 1 && <p class="quiet">One after the other: each finds what those before it have left.</p>}
      {steps.map((step, at) => (
        <StepCard key={at} step={step} />
      ))}
    </>
  );
}

function StepCard({ step }: { readonly step: Step }) {
  return (
    <article class="answer">
      <div class="head">
        <h2>
          <span class="kind">{step.kind}</span> <Said text={step.name} />
        </h2>
        <p class="verdict">
          <State state={step.outcome} waits={!runs(step)} />
          <span class="quiet">{countOf(step)}</span>
        </p>
      </div>
      <p class="sentence">
        <Said text={step.sentence} />
      </p>
      {step.notModelled.length > 0 && <Lines title="Not modelled" lines={step.notModelled} />}
      {step.quota !== null && <Quota quota={step.quota} sentence={step.sentence} />}
      {step.quotaConsequences.length > 0 && <QuotaConsequences answers={step.quotaConsequences} />}
      {step.evicted.length > 0 && <Lines title="Who would be evicted" lines={step.evicted} />}
      {step.consequences.length > 0 && <Consequences step={step} />}
      <Nodes changes={changesOf(step)} />
      {step.running === 0 && <Where step={step} />}
    </article>
  );
}

function Lines({ title, lines }: { readonly title: string; readonly lines: readonly string[] }) {
  return (
    <section class="part">
      <h3>{title}</h3>
      <ul>
        {lines.map((line, at) => (
          <li key={at}>
            <Said text={line} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Quota({ quota, sentence }: { readonly quota: Answer; readonly sentence: string }) {
  const isSaid = sentence.includes(quota.sentence);
  if (isSaid && quota.waitsFor.length === 0) return null;
  return (
    <section class="part">
      <h3>Quota</h3>
      {!isSaid && (
        <p>
          <Said text={quota.sentence} />
        </p>
      )}
      {quota.waitsFor.length > 0 && (
        <>
          <p>These would lose quota:</p>
          <ul>
            {quota.waitsFor.map((line, at) => (
              <li key={at}>
                <Said text={line} />
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function QuotaConsequences({ answers }: { readonly answers: readonly Answer[] }) {
  return (
    <section class="part">
      <h3>What becomes of those that would lose quota</h3>
      <ul>
        {answers.map((each) => (
          <li key={each.name}>
            <WorkloadName name={each.name} />: <Said text={each.sentence} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Consequences({ step }: { readonly step: Step }) {
  return (
    <section class="part">
      <h3>What would become of them</h3>
      <ul>
        {step.consequences.map((each, at) => (
          <li key={at}>
            <Said text={each.unit} />: <Said text={each.sentence} />
            {each.wouldEvict.length > 0 && (
              <ul>
                {each.wouldEvict.map((line, index) => (
                  <li key={index}>
                    It would evict <Said text={line} />
                  </li>
                ))}
              </ul>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Nodes({ changes }: { readonly changes: readonly NodeChange[] }) {
  if (changes.length === 0) return null;
  const most = mostOf(changes);
  return (
    <section class="part">
      <h3>Nodes before and after</h3>
      <table class="lines">
        <caption>Only nodes on which something would change.</caption>
        <thead>
          <tr>
            <th scope="col">node</th>
            <th scope="col">would leave</th>
            <th scope="col">would come</th>
          </tr>
        </thead>
        <tbody>
          {changes.map(({ node, leave, come }) => (
            <tr key={node}>
              <th scope="row">
                <Said text={node} />
              </th>
              <td data-title="would leave">
                <Pods names={leave} most={most} kind="leaves" />
              </td>
              <td data-title="would come">
                <Pods names={come} most={most} kind="comes" />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface PodsProps {
  readonly names: readonly string[];
  readonly most: number;
  readonly kind: "leaves" | "comes";
}

/** Their number as a bar, and their names. */
function Pods({ names, most, kind }: PodsProps) {
  if (names.length === 0) return <span class="quiet">none</span>;
  return (
    <div class="pods">
      <svg class="count" width="100%" height="10" aria-hidden="true">
        <rect class={`share ${kind}`} width={`${(100 * names.length) / most}%`} height="10" />
      </svg>
      {names.map((name, at) => (
        <span key={at} class="small pod">
          <Said text={name} />
        </span>
      ))}
    </div>
  );
}

function Where({ step }: { readonly step: Step }) {
  const domains = step.plan?.domains ?? [];
  if (domains.length === 0) return null;
  return (
    <section class="part">
      <h3>Where</h3>
      <ul>
        {domains.slice(0, 5).map((each, at) => (
          <li key={at}>
            <Said text={`${each.value ?? "the cluster"}: ${each.outcome}, ${each.reason}`} />
          </li>
        ))}
      </ul>
    </section>
  );
}
