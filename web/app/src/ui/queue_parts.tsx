/** What the views of queues have in common: tables of quota, and who could take it back. */

import { answerAddress, halves, queueAddress } from "../address.ts";
import { lentOf, pairOf, reclaimWords, victimName, victimWords } from "../queues.ts";
import type { Account, QueueVictim, Reclaim } from "../wire.ts";
import { ObjectName, Said } from "./text.tsx";

const AMOUNTS = ["quota", "used", "borrowed", "lent", "free"] as const;

/** The titles of `AmountCells`. */
export function AmountTitles() {
  return (
    <>
      <th scope="col">flavor</th>
      <th scope="col">resource</th>
      {AMOUNTS.map((title) => (
        <th key={title} scope="col" class="number">
          {title}
        </th>
      ))}
    </>
  );
}

/** The numbers of an account, as the command prints them. */
export function AmountCells({ account }: { readonly account: Account }) {
  return (
    <>
      <td data-title="flavor">
        <Said text={account.flavor} />
      </td>
      <td data-title="resource">
        <Said text={account.resource} />
      </td>
      {AMOUNTS.map((title) => (
        <td key={title} data-title={title} class="number">
          <Said text={title === "lent" ? lentOf(account) : account[title]} />
        </td>
      ))}
    </>
  );
}

export function AccountsTable({ accounts }: { readonly accounts: readonly Account[] }) {
  return (
    <table class="lines">
      <caption class="unseen">Quota</caption>
      <thead>
        <tr>
          <AmountTitles />
        </tr>
      </thead>
      <tbody>
        {accounts.map((account) => (
          <tr key={pairOf(account)}>
            <AmountCells account={account} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface ReclaimProps {
  readonly title: string;
  readonly reclaims: readonly Reclaim[];
  /** Whether it is said who could take it. */
  readonly isNamed: boolean;
  /** Only victims of this ClusterQueue are named; empty for all. */
  readonly only?: string;
}

export function Reclaims({ title, reclaims, isNamed, only = "" }: ReclaimProps) {
  if (reclaims.length === 0) return null;
  return (
    <section class="part">
      <h2>{title}</h2>
      <ul class="reclaims">
        {reclaims.map((reclaim, at) => (
          <li key={at}>
            {isNamed && (
              <>
                <a href={queueAddress("", reclaim.clusterQueue)}>
                  <Said text={reclaim.clusterQueue} />
                </a>
                {": "}
              </>
            )}
            <Said text={reclaimWords(reclaim)} />. These would be evicted:
            <ul>
              {reclaim.victims
                .filter((victim) => only === "" || victim.clusterQueue === only)
                .map((victim, index) => (
                  <li key={victim.workload ?? index}>
                    <WorkloadName name={victim.workload} /> <Holds victim={victim} resource={reclaim.resource} />
                  </li>
                ))}
            </ul>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Holds({ victim, resource }: { readonly victim: QueueVictim; readonly resource: string }) {
  return (
    <span class="quiet">
      (<Said text={victimWords(victim, resource)} />)
    </span>
  );
}

/** A Workload with its link, or that it is one of another namespace. */
export function WorkloadName({ name }: { readonly name: string | undefined }) {
  if (name === undefined || name === "") return <>{victimName(name)}</>;
  const [namespace, own] = halves(name, "/");
  return (
    <a href={answerAddress("workload", namespace, own)}>
      <ObjectName namespace={namespace} name={own} />
    </a>
  );
}
