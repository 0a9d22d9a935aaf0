/** What waits, and why: gangs, pods without a gang, and Workloads. */

import { useMemo } from "preact/hooks";
import { type Filters, NO_FILTERS, waitingAddress } from "../address.ts";
import { save } from "../files.ts";
import { about, answer } from "../state.ts";
import { grouped, itemsOf, type Section, sectionsOf } from "../waiting.ts";
import type { Waiting } from "../wire.ts";
import { FilterBar } from "./filter_bar.tsx";
import { NamespaceForm } from "./namespaces.tsx";
import { Missing } from "./notices.tsx";
import { Refused } from "./refused.tsx";
import { useTitle } from "./title.ts";
import { useLoader } from "./use_loader.ts";
import { WaitingRows } from "./waiting_rows.tsx";

const LEAST_MS = 1000;

export function WaitingView({ filters }: { readonly filters: Filters }) {
  const title = useTitle("Waiting");
  const loader = useLoader<Waiting>((signal) => answer<Waiting>("waiting", { signal }), LEAST_MS);
  const waiting = loader.answer.value;
  const refusal = loader.refusal.value;
  return (
    <>
      <div class="head">
        <h1 ref={title} tabIndex={-1}>
          Waiting
        </h1>
        <p class="quiet summary" role="status">
          {waiting !== null && <Summary waiting={waiting} filters={filters} />}
        </p>
        {waiting !== null && (
          <button type="button" onClick={() => save("waiting", waiting)}>
            Save as JSON
          </button>
        )}
      </div>
      <NamespaceForm />
      {refusal !== null && <Refused refusal={refusal} hasOld={waiting !== null} />}
      {waiting === null && refusal === null && <p class="quiet">Loading…</p>}
      {waiting !== null && <Content waiting={waiting} filters={filters} />}
    </>
  );
}

function Content({ waiting, filters }: { readonly waiting: Waiting; readonly filters: Filters }) {
  const sections = useMemo(() => sectionsOf(waiting, filters), [waiting, filters]);
  const items = useMemo(() => itemsOf(sections), [sections]);
  const all = waiting.groups.length + waiting.pods.length + waiting.workloads.length;
  const shown = sections.reduce((sum, section) => sum + section.rows.length, 0);
  return (
    <>
      <FilterBar waiting={waiting} filters={filters} />
      <Missing rights={waiting.missing} />
      {shown > 0 && <WaitingRows items={items} moment={waiting.moment} />}
      {all > 0 && shown === 0 && <p class="empty">No row matches these filters.</p>}
      {all === 0 && <p class="empty">{emptiness()}</p>}
    </>
  );
}

/** Why the list has no row at all. */
function emptiness(): string {
  const seen = about.value?.namespaces;
  const where = seen === undefined || seen.all ? "" : " in the namespaces that you may see";
  return `Nothing waits${where}: every gang, every pod and every Workload has what it needs.`;
}

function Summary({ waiting, filters }: { readonly waiting: Waiting; readonly filters: Filters }) {
  const sections = sectionsOf(waiting, filters);
  const isNarrowed = sections.some((section) => section.rows.length < section.of);
  const parts = sections.map((section) => `${grouped(section.rows.length)} ${nameOf(section)}`);
  return (
    <>
      {parts.join(" · ")}
      {isNarrowed && (
        <>
          {" "}
          with these filters. <a href={waitingAddress(NO_FILTERS)}>Show everything</a>
        </>
      )}
    </>
  );
}

const ONE = new Map([
  ["groups", "gang"],
  ["pods", "pod without a gang"],
  ["workloads", "Workload"],
]);
const MANY = new Map([
  ["groups", "gangs"],
  ["pods", "pods without a gang"],
  ["workloads", "Workloads"],
]);

function nameOf(section: Section): string {
  return (section.rows.length === 1 ? ONE : MANY).get(section.id) ?? "";
}
