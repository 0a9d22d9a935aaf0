/** Whether reprieve works in the cluster: what is wrong, and what helps. */

import { DOCTOR } from "../address.ts";
import { command } from "../command.ts";
import { headOf, levelsOf } from "../doctor.ts";
import { copy } from "../files.ts";
import { about, answer } from "../state.ts";
import type { Finding, Findings } from "../wire.ts";
import { PanelActions } from "./panel.tsx";
import { Refused } from "./refused.tsx";
import { Said, Word } from "./text.tsx";
import { useTitle } from "./title.ts";
import { useLoader } from "./use_loader.ts";

/** An answer costs lists of all pods, so it is not asked for more often. */
const LEAST_MS = 60_000;

export function DoctorView() {
  const title = useTitle("Doctor");
  const loader = useLoader<Findings>((signal) => answer<Findings>("doctor", { signal }), LEAST_MS);
  const found = loader.answer.value;
  const refusal = loader.refusal.value;
  return (
    <>
      <div class="head">
        <h1 ref={title} tabIndex={-1}>
          Doctor
        </h1>
        {found !== null && (
          <PanelActions
            command={command("doctor", [], about.value?.reads ?? "")}
            address={DOCTOR}
            name="doctor"
            value={found}
          />
        )}
      </div>
      {refusal !== null && <Refused refusal={refusal} hasOld={found !== null} />}
      {found === null && refusal === null && <p class="quiet">Looking at the cluster, with your rights…</p>}
      {found !== null && <Content found={found} />}
    </>
  );
}

function Content({ found }: { readonly found: Findings }) {
  return (
    <>
      <p class="sentence">{headOf(found)}</p>
      {levelsOf(found).map((level) => (
        <section key={level.name} class="part">
          <h2>{level.title}</h2>
          <ul class="findings">
            {level.findings.map((finding, at) => (
              <FindingLine key={at} finding={finding} />
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}

function FindingLine({ finding }: { readonly finding: Finding }) {
  const { command: helps } = finding;
  return (
    <li class={finding.level.toLowerCase()}>
      <p>
        <strong>
          <Said text={finding.check} />
        </strong>{" "}
        <Said text={finding.message} />
      </p>
      {finding.fault !== null && (
        <p>
          <span class="quiet">
            <Word text={finding.fault} />:
          </span>{" "}
          <Said text={finding.remedy ?? ""} />
        </p>
      )}
      {helps !== null && (
        <p class="actions">
          <code>{helps}</code>
          <button type="button" onClick={() => void copy(helps)}>
            Copy
          </button>
        </p>
      )}
    </li>
  );
}
