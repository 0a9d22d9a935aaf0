/** Words of plans that several views show. */

import { type End, endOf, standingOf, vainOf } from "../plans.ts";
import type { PlanRow } from "../wire.ts";

/** Whether a plan goes on, is over, or is never carried out. A sign says it, too. */
export function Standing({ row }: { readonly row: PlanRow }) {
  const [look, sign] = SIGNS[row.standing === "Over" ? endOf(row) : row.standing];
  return (
    <span class={`state ${look}`}>
      <svg class="sign" viewBox="0 0 12 12" aria-hidden="true">
        <path d={sign} />
      </svg>
      {standingOf(row)}
    </span>
  );
}

type Sign = Exclude<PlanRow["standing"], "Over"> | End;

/** The class and the path of each sign. Only a preemptor that got its room has a tick. */
const SIGNS: Readonly<Record<Sign, readonly [string, string]>> = {
  GoesOn: ["waits", "M2 1 10 6 2 11z"],
  Got: ["done", "M2 6.5 5 9.5 10 3"],
  InVain: ["waits", "M2 2 10 10M10 2 2 10"],
  Ended: ["unreal", "M2 6h8"],
  Observed: ["unreal", "M1 6c3-5 7-5 10 0-3 5-7 5-10 0M6 5v2"],
  Proposed: ["unreal", "M6 1v6M6 10v1"],
};

/** Whether what was evicted served nobody. */
export function Vain({ inVain }: { readonly inVain: boolean | null }) {
  const said = vainOf(inVain);
  if (said === "") return null;
  return <span class={inVain ? "vain" : "quiet"}>({said})</span>;
}
