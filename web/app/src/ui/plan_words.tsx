/** Words of plans that several views show. */

import { standingOf, vainOf } from "../plans.ts";
import type { PlanRow } from "../wire.ts";

/** Whether a plan goes on, is over, or is never carried out. A sign says it, too. */
export function Standing({ row }: { readonly row: PlanRow }) {
  return (
    <span class={`state ${row.standing === "GoesOn" ? "waits" : row.standing === "Over" ? "done" : "unreal"}`}>
      <svg class="sign" viewBox="0 0 12 12" aria-hidden="true">
        <path d={SIGNS[row.standing]} />
      </svg>
      {standingOf(row)}
    </span>
  );
}

const SIGNS: Readonly<Record<PlanRow["standing"], string>> = {
  GoesOn: "M2 1 10 6 2 11z",
  Over: "M2 6.5 5 9.5 10 3",
  Observed: "M1 6c3-5 7-5 10 0-3 5-7 5-10 0M6 5v2",
  Proposed: "M6 1v6M6 10v1",
};

/** Whether what was evicted served nobody. */
export function Vain({ inVain }: { readonly inVain: boolean | null }) {
  const said = vainOf(inVain);
  if (said === "") return null;
  return <span class={inVain ? "vain" : "quiet"}>({said})</span>;
}
