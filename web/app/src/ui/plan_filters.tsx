/** What the list of plans is narrowed to. All of it is in the address, so a link has it. */

import { type PlanFilters, plansAddress } from "../address.ts";
import { countsOf, PLANES, STANDINGS } from "../plans.ts";
import { route } from "../state.ts";
import type { PlanRow } from "../wire.ts";
import { Choice, optionsOf } from "./choice.tsx";

interface Props {
  readonly plans: readonly PlanRow[];
  readonly filters: PlanFilters;
}

export function PlanFilterBar({ plans, filters }: Props) {
  const change = (part: Partial<PlanFilters>): void => narrow({ ...filters, ...part });
  const namespaces = countsOf(plans, (row) => row.namespace);
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
        />
      </label>
      <Choice
        title="Standing"
        value={filters.standing}
        options={[["", "All plans"], ...STANDINGS]}
        onChange={(standing) => change({ standing })}
      />
      <Choice
        title="Namespace"
        value={filters.namespace}
        options={optionsOf("All namespaces", filters.namespace, namespaces)}
        onChange={(namespace) => change({ namespace })}
      />
      <Choice
        title="About"
        value={filters.plane}
        options={[["", "Everything"], ...PLANES]}
        onChange={(plane) => change({ plane })}
      />
    </form>
  );
}

/** Narrow the list. The history gets no step for each letter. */
function narrow(filters: PlanFilters): void {
  window.history.replaceState(null, "", plansAddress(filters));
  route.value = { view: "plans", filters };
}
