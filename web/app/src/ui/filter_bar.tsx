/** What the list is narrowed to. All of it is in the address, so a link has it. */

import { type Filters, waitingAddress } from "../address.ts";
import { route } from "../state.ts";
import { counts } from "../waiting.ts";
import type { Waiting } from "../wire.ts";
import { Choice, type Options, optionsOf } from "./choice.tsx";

const KINDS: Options = [
  ["", "All kinds"],
  ["groups", "Gangs"],
  ["pods", "Pods without a gang"],
  ["workloads", "Workloads"],
];

export function FilterBar({ waiting, filters }: { readonly waiting: Waiting; readonly filters: Filters }) {
  const change = (part: Partial<Filters>): void => narrow({ ...filters, ...part });
  const namespaces = counts(waiting, (row) => row.namespace);
  const states = counts(waiting, (row) => row.state);
  return (
    // Enter sends nothing: the list follows each letter.
    <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
      <label class="wide">
        <span>Filter by text</span>
        <input
          type="search"
          spellcheck={false}
          value={filters.text}
          onInput={(event) => change({ text: event.currentTarget.value })}
          onKeyDown={toRows}
        />
      </label>
      <Choice title="Kind" value={filters.kind} options={KINDS} onChange={(kind) => change({ kind })} />
      <Choice
        title="Namespace"
        value={filters.namespace}
        options={optionsOf("All namespaces", filters.namespace, namespaces)}
        onChange={(namespace) => change({ namespace })}
      />
      <Choice
        title="State"
        value={filters.state}
        options={optionsOf("All states", filters.state, states)}
        onChange={(state) => change({ state })}
      />
    </form>
  );
}

/** Narrow the list. The history gets no step for each letter. */
function narrow(filters: Filters): void {
  window.history.replaceState(null, "", waitingAddress(filters));
  route.value = { view: "waiting", filters };
}

function toRows(event: KeyboardEvent): void {
  if (event.key !== "ArrowDown") return;
  event.preventDefault();
  document.querySelector<HTMLElement>(".rows a")?.focus();
}
