/** The stored plans for one preemptor, the newest first. */

import { halves, type Kind, planAddress } from "../address.ts";
import { plansForPath } from "../client.ts";
import { answer } from "../state.ts";
import type { Plans } from "../wire.ts";
import { Missing } from "./notices.tsx";
import { Standing, Vain } from "./plan_words.tsx";
import { Said, Time, Word } from "./text.tsx";
import { useLoader } from "./use_loader.ts";

const LEAST_MS = 10_000;

/** `name`: NAMESPACE/NAME. */
export function PlansInTime({ kind, name }: { readonly kind: Kind; readonly name: string }) {
  const path = plansForPath(kind, ...halves(name, "/"));
  const found = useLoader<Plans>((signal) => answer<Plans>(path, { signal }), LEAST_MS).answer.value;
  if (found === null) return null;
  return (
    <section class="part" aria-labelledby="plans-in-time">
      <h2 id="plans-in-time">Its plans in time</h2>
      {found.plans.length === 0 && <p class="quiet">No plan for it is stored. Plans are kept for a time only.</p>}
      {found.plans.length > 0 && (
        <ol class="phases">
          {found.plans.map((row) => (
            <li key={`${row.kind} ${row.name}`}>
              <a href={planAddress(row.namespace, row.name)}>
                <Said text={row.name} />
              </a>{" "}
              <Standing row={row} /> <Word text={row.phase} />{" "}
              <span class="quiet">
                <Time time={row.decided} />
              </span>{" "}
              <Said text={row.sentence} /> <Vain inVain={row.inVain} />
            </li>
          ))}
        </ol>
      )}
      {found.plans.length === 0 && <Missing rights={found.missing} />}
    </section>
  );
}
