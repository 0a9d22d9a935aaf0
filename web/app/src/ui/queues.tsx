/** All queues: the trees of Cohorts with the quota of each node, and who could take quota back. */

import { useState } from "preact/hooks";
import { queueAddress, queuesAddress } from "../address.ts";
import { queueCommand } from "../command.ts";
import { saveSvg } from "../files.ts";
import { printable } from "../printable.ts";
import { pictureOf } from "../queue_picture.ts";
import { accountsOf, type Branch, branchesOf, counted, pairOf, pairsOf, summaryOf, withParents } from "../queues.ts";
import { about, answer, route } from "../state.ts";
import type { QueueNode, Queues } from "../wire.ts";
import { NamespaceForm } from "./namespaces.tsx";
import { Missing } from "./notices.tsx";
import { PanelActions } from "./panel.tsx";
import { Accounts, Legend, Patterns } from "./queue_bars.tsx";
import { AmountCells, AmountTitles, Reclaims } from "./queue_parts.tsx";
import { Refused } from "./refused.tsx";
import { Said } from "./text.tsx";
import { useTitle } from "./title.ts";
import { useLoader } from "./use_loader.ts";

/** Who could take quota back costs searches, so it is not asked for more often. */
const LEAST_MS = 5000;

export function QueuesView({ pair }: { readonly pair: string }) {
  const title = useTitle("Queues");
  const loader = useLoader<Queues>((signal) => answer<Queues>("queues", { signal }), LEAST_MS);
  const queues = loader.answer.value;
  const refusal = loader.refusal.value;
  return (
    <>
      <div class="head">
        <h1 ref={title} tabIndex={-1}>
          Queues
        </h1>
        <p class="quiet summary" role="status">
          {queues !== null && summaryOf(queues)}
        </p>
        {queues !== null && (
          <PanelActions
            command={queueCommand("", "", about.value?.command ?? "")}
            address={queuesAddress(pair)}
            name="queues"
            value={queues}
            saveSvg={() => saveSvg("queues", pictureOf(queues, pair))}
          />
        )}
      </div>
      <NamespaceForm />
      {refusal !== null && <Refused refusal={refusal} hasOld={queues !== null} />}
      {queues === null && refusal === null && <p class="quiet">Loading…</p>}
      {queues !== null && <Content queues={queues} pair={pair} />}
    </>
  );
}

function Content({ queues, pair }: { readonly queues: Queues; readonly pair: string }) {
  const [isTable, setTable] = useState(false);
  if (queues.trees.length === 0) return <p class="empty">There is no ClusterQueue.</p>;
  return (
    <>
      <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
        <PairChoice queues={queues} pair={pair} />
        <button type="button" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
          Queues as table
        </button>
      </form>
      <Missing rights={queues.missing ?? []} />
      {isTable ? <QueuesTable queues={queues} pair={pair} /> : <QueuesTree queues={queues} pair={pair} />}
      <Reclaims
        title="Who could take quota back"
        reclaims={pair === "" ? queues.reclaims : queues.reclaims.filter((each) => pairOf(each) === pair)}
        isNamed={true}
      />
    </>
  );
}

function PairChoice({ queues, pair }: { readonly queues: Queues; readonly pair: string }) {
  const found = pairsOf(queues);
  const all = pair === "" || found.includes(pair) ? found : [pair, ...found];
  return (
    <label>
      <span>Resource and flavor</span>
      <select value={pair} onChange={(event) => narrow(event.currentTarget.value)}>
        <option value="">All</option>
        {all.map((each) => (
          <option key={each} value={each}>
            {printable(each)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Narrow the view. The history gets no step for it. */
function narrow(pair: string): void {
  window.history.replaceState(null, "", queuesAddress(pair));
  route.value = { view: "queues", pair };
}

function QueuesTree({ queues, pair }: { readonly queues: Queues; readonly pair: string }) {
  return (
    <>
      <Patterns />
      <Legend />
      {queues.trees.map((tree, at) => (
        <ul key={at} class="tree">
          {branchesOf(tree).map((branch) => (
            <Node key={branch.node.name} branch={branch} pair={pair} />
          ))}
        </ul>
      ))}
    </>
  );
}

function Node({ branch, pair }: { readonly branch: Branch; readonly pair: string }) {
  const { node, below } = branch;
  const accounts = accountsOf(node, pair);
  return (
    <li>
      <p class="node">
        <NodeName node={node} />
        <span class="quiet small">{node.kind}</span>
        {node.waiting !== null && node.waiting > 0 && (
          <span class="state waits">
            {counted(node.waiting, "Workload")} {node.waiting === 1 ? "waits" : "wait"}
          </span>
        )}
      </p>
      <Inactive node={node} />
      {accounts.length > 0 && <Accounts accounts={accounts} />}
      {below.length > 0 && (
        <ul>
          {below.map((each) => (
            <Node key={`${each.node.kind} ${each.node.name}`} branch={each} pair={pair} />
          ))}
        </ul>
      )}
    </li>
  );
}

function NodeName({ node }: { readonly node: QueueNode }) {
  if (node.kind === "Cohort")
    return (
      <strong>
        <Said text={node.name} />
      </strong>
    );
  return (
    <a class="own" href={queueAddress("", node.name)}>
      <Said text={node.name} />
    </a>
  );
}

function Inactive({ node }: { readonly node: { readonly inactive: string | null } }) {
  if (node.inactive === null) return null;
  return (
    <p class="notice bad">
      <strong>It is not active.</strong> <Said text={node.inactive} />
    </p>
  );
}

/** The same data as the tree has. */
function QueuesTable({ queues, pair }: { readonly queues: Queues; readonly pair: string }) {
  return (
    <table class="lines">
      <caption>Queues come after the Cohort that they are in.</caption>
      <thead>
        <tr>
          <th scope="col">queue</th>
          <th scope="col">kind</th>
          <th scope="col">in Cohort</th>
          <AmountTitles />
          <th scope="col" class="number">
            waiting
          </th>
        </tr>
      </thead>
      <tbody>
        {queues.trees.flatMap(withParents).map(({ node, parent }) => (
          <TableRows key={`${node.kind} ${node.name}`} node={node} parent={parent} pair={pair} />
        ))}
      </tbody>
    </table>
  );
}

interface RowsProps {
  readonly node: QueueNode;
  readonly parent: string;
  readonly pair: string;
}

function TableRows({ node, parent, pair }: RowsProps) {
  return (
    <>
      {accountsOf(node, pair).map((account) => (
        <tr key={pairOf(account)}>
          <th scope="row">
            <NodeName node={node} />
          </th>
          <td data-title="kind">{node.kind}</td>
          <td data-title="in Cohort">
            <Said text={parent} />
          </td>
          <AmountCells account={account} />
          <td data-title="waiting" class="number">
            {node.waiting ?? ""}
          </td>
        </tr>
      ))}
    </>
  );
}
