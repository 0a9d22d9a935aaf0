/** One queue: its quota, who waits there, what it could take back, and what others could take from it. */

import { queueAddress, queuesAddress } from "../address.ts";
import { queuePath } from "../client.ts";
import { queueCommand } from "../command.ts";
import { countWords, limitsOf, outcomeWords } from "../queues.ts";
import { about, answer } from "../state.ts";
import type { LocalQueue, QueueAnswer, WaitingWorkload } from "../wire.ts";
import { Missing } from "./notices.tsx";
import { PanelActions } from "./panel.tsx";
import { Accounts, Legend, Patterns } from "./queue_bars.tsx";
import { AccountsTable, Reclaims, WorkloadName } from "./queue_parts.tsx";
import { Refused } from "./refused.tsx";
import { ObjectName, Said, Word } from "./text.tsx";
import { useTitle } from "./title.ts";
import { useLoader } from "./use_loader.ts";

/** An answer tries each Workload that waits, so it is not asked for more often. */
const LEAST_MS = 10_000;

interface Props {
  /** Of a LocalQueue; empty for a ClusterQueue. */
  readonly namespace: string;
  readonly name: string;
}

export function QueueView({ namespace, name }: Props) {
  const kind = namespace === "" ? "ClusterQueue" : "LocalQueue";
  const title = useTitle(`${kind} ${namespace === "" ? name : `${namespace}/${name}`}`);
  const loader = useLoader<QueueAnswer>(
    (signal) => answer<QueueAnswer>(queuePath(namespace, name), { signal }),
    LEAST_MS,
  );
  const found = loader.answer.value;
  const refusal = loader.refusal.value;
  return (
    <>
      <nav class="path" aria-label="Path">
        <a href={queuesAddress()}>Queues</a>
      </nav>
      <div class="head">
        <h1 ref={title} tabIndex={-1}>
          <span class="kind">{kind}</span>{" "}
          {namespace === "" ? <Said text={name} /> : <ObjectName namespace={namespace} name={name} />}
        </h1>
        {found !== null && (
          <PanelActions
            command={queueCommand(namespace, name, about.value?.command ?? "")}
            address={queueAddress(namespace, name)}
            name={`queue-${namespace === "" ? name : `${namespace}-${name}`}`}
            value={found}
          />
        )}
      </div>
      {refusal !== null && <Refused refusal={refusal} hasOld={found !== null} />}
      {found === null && refusal === null && <p class="quiet">Loading…</p>}
      {found !== null && <Content found={found} />}
    </>
  );
}

function Content({ found }: { readonly found: QueueAnswer }) {
  const quota = found.quota ?? [];
  return (
    <article class="answer" aria-label="Quota and who waits for it">
      <Facts found={found} />
      {typeof found.inactive === "string" && (
        <p class="notice bad">
          <strong>It is not active.</strong> <Said text={found.inactive} />
        </p>
      )}
      <Missing rights={found.missing ?? []} />
      {found.localQueue !== null && <OfLocalQueue local={found.localQueue} />}
      {quota.length > 0 && (
        <section class="part">
          <h2>
            Quota of ClusterQueue <Said text={found.clusterQueue} />
          </h2>
          <Patterns />
          <Legend />
          <Accounts accounts={quota} />
          <AccountsTable accounts={quota} />
          {quota.flatMap(limitsOf).map((line) => (
            <p key={line} class="quiet small">
              <Said text={line} />
            </p>
          ))}
        </section>
      )}
      <Waiting waiting={found.waiting} />
      <Reclaims title="What it could take back" reclaims={found.couldTake ?? []} isNamed={false} />
      <Reclaims
        title="What others could take from it"
        reclaims={found.couldLose ?? []}
        isNamed={true}
        only={found.clusterQueue}
      />
    </article>
  );
}

function Facts({ found }: { readonly found: QueueAnswer }) {
  return (
    <dl class="facts">
      <div>
        <dt>ClusterQueue</dt>
        <dd>
          {found.path === undefined ? (
            <Said text={found.clusterQueue} />
          ) : (
            <a href={queueAddress("", found.clusterQueue)}>
              <Said text={found.clusterQueue} />
            </a>
          )}
        </dd>
      </div>
      {found.path !== undefined && (
        <div>
          <dt>place in the tree</dt>
          <dd>
            <Said text={found.path} />
          </dd>
        </div>
      )}
      <div>
        <dt>Workloads</dt>
        <dd>{countWords(found).join(", ")}</dd>
      </div>
    </dl>
  );
}

function OfLocalQueue({ local }: { readonly local: LocalQueue }) {
  return (
    <section class="part">
      <h2>
        With quota in LocalQueue <Said text={local.name} />
      </h2>
      <p>
        {local.reservingWorkloads} with quota, {local.admittedWorkloads} admitted
        {local.stopPolicy !== "None" && (
          <>
            . It is stopped (<Word text={local.stopPolicy} />)
          </>
        )}
        .
      </p>
      {local.used.length > 0 && (
        <ul>
          {local.used.map((each) => (
            <li key={`${each.flavor} ${each.resource}`}>
              <Said text={`${each.quantity} ${each.resource} in flavor ${each.flavor}`} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Waiting({ waiting }: { readonly waiting: readonly WaitingWorkload[] }) {
  if (waiting.length === 0) return null;
  return (
    <section class="part">
      <h2>Who waits</h2>
      <table class="lines">
        <caption>In the order of the queue. Each is tried as if it came next, alone.</caption>
        <thead>
          <tr>
            <th scope="col">Workload</th>
            <th scope="col">LocalQueue</th>
            <th scope="col" class="number">
              priority
            </th>
            <th scope="col">outcome</th>
            <th scope="col">if it is tried alone</th>
          </tr>
        </thead>
        <tbody>
          {waiting.map((each) => (
            <tr key={each.workload}>
              <th scope="row">
                <WorkloadName name={each.workload} />
              </th>
              <td data-title="LocalQueue">
                <Said text={each.localQueue} />
              </td>
              <td data-title="priority" class="number">
                {each.priority}
              </td>
              <td data-title="outcome">
                <Word text={each.outcome} />
              </td>
              <td data-title="if it is tried alone" class="reason">
                <Said text={outcomeWords(each)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
