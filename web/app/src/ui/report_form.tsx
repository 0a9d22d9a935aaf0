/** Which report is shown. The address has it, so a link has it. */

import { useState } from "preact/hooks";
import { BY, pricesIn, type ReportQuestion, reportAddress, USUAL } from "../report_question.ts";

export function ReportForm({ question }: { readonly question: ReportQuestion }) {
  const [since, setSince] = useState(question.since);
  const [by, setBy] = useState(question.by);
  const [namespace, setNamespace] = useState(question.namespace);
  const [prices, setPrices] = useState(question.prices.join(" "));
  const show = (event: Event): void => {
    event.preventDefault();
    window.location.hash = reportAddress({
      since: since.trim() || USUAL.since,
      by,
      namespace: namespace.trim(),
      prices: pricesIn(prices),
      day: "",
    });
  };
  return (
    <form class="filters" onSubmit={show} aria-label="Which report">
      <Field title="How far back" value={since} set={setSince} />
      <label>
        <span>Rows by</span>
        <select value={by} onChange={(event) => setBy(event.currentTarget.value)}>
          {BY.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </label>
      <Field title="Namespace of the preemptors" value={namespace} set={setNamespace} />
      <Field
        title="Prices of an hour, such as nvidia.com/gpu=2.5 cpu=0.04"
        value={prices}
        set={setPrices}
        isWide={true}
      />
      <button type="submit">Show this report</button>
    </form>
  );
}

interface FieldProps {
  readonly title: string;
  readonly value: string;
  readonly set: (value: string) => void;
  readonly isWide?: boolean;
}

function Field({ title, value, set, isWide = false }: FieldProps) {
  return (
    <label class={isWide ? "wide" : undefined}>
      <span>{title}</span>
      <input value={value} spellcheck={false} onInput={(event) => set(event.currentTarget.value)} />
    </label>
  );
}
