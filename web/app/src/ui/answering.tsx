/** Why one object waits: all that `reprieve why` says. */

import { answerAddress, type Kind, NO_FILTERS, waitingAddress } from "../address.ts";
import { whyPath } from "../client.ts";
import { answer } from "../state.ts";
import { kindName } from "../waiting.ts";
import type { Answer } from "../wire.ts";
import { AnswerCard } from "./answer_card.tsx";
import { PlansInTime } from "./plans_in_time.tsx";
import { Refused } from "./refused.tsx";
import { ObjectName, Said } from "./text.tsx";
import { useTitle } from "./title.ts";
import { useLoader } from "./use_loader.ts";

/** An answer costs a search, so it is not asked for more often. */
const LEAST_MS = 10_000;

interface Props {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
}

export function Answering({ kind, namespace, name }: Props) {
  const title = useTitle(`${kindName(kind)} ${namespace}/${name}`);
  const loader = useLoader<Answer>((signal) => answer<Answer>(whyPath(kind, namespace, name), { signal }), LEAST_MS);
  const found = loader.answer.value;
  const refusal = loader.refusal.value;
  return (
    <>
      <nav class="path" aria-label="Path">
        <a href={waitingAddress()}>Waiting</a> <span aria-hidden="true">›</span>{" "}
        <a href={waitingAddress({ ...NO_FILTERS, namespace })}>
          <Said text={namespace} />
        </a>
      </nav>
      <div class="head">
        <h1 ref={title} tabIndex={-1}>
          <span class="kind">{kindName(kind)}</span> <ObjectName namespace={namespace} name={name} />
        </h1>
      </div>
      {refusal !== null && <Refused refusal={refusal} hasOld={found !== null} />}
      {found === null && refusal === null && <p class="quiet">Loading…</p>}
      {found !== null && <AnswerCard answer={found} depth={0} address={answerAddress(kind, namespace, name)} />}
      {found !== null && kind !== "job" && <PlansInTime kind={kind} name={found.name} />}
    </>
  );
}
