/** One node: its room, its pods, and to whom its room is promised. */

import { useEffect, useRef } from "preact/hooks";
import { answerAddress, type MapChoice, mapAddress } from "../../address.ts";
import { nodePath } from "../../client.ts";
import { nodeCommand } from "../../command.ts";
import { copy, save } from "../../files.ts";
import { amountText } from "../../map/amounts.ts";
import { gangKey } from "../../map/gangs.ts";
import { printable } from "../../printable.ts";
import { about, answer } from "../../state.ts";
import { grouped } from "../../waiting.ts";
import type { NodePod, NodeRoom, PromisedPod } from "../../wire.ts";
import { Missing } from "../notices.tsx";
import { CopyCommand } from "../panel.tsx";
import { Refused } from "../refused.tsx";
import { ObjectName, Said } from "../text.tsx";
import { useLoader } from "../use_loader.ts";
import { choose } from "./map.tsx";
import { AMOUNTS } from "./said.ts";

const LEAST_MS = 1000;

interface Props {
  readonly choice: MapChoice;
  /** What the map shows. Pods are listed with it. */
  readonly resource: string;
}

export function NodePanel({ choice, resource }: Props) {
  const { node: name } = choice;
  const loader = useLoader<NodeRoom>((signal) => answer<NodeRoom>(nodePath(name), { signal }), LEAST_MS);
  const found = loader.answer.value;
  const refusal = loader.refusal.value;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  const close = (): void => choose({ ...choice, node: "" });
  const pressed = (event: KeyboardEvent): void => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    close();
  };
  return (
    <section class="map-panel node-panel" aria-labelledby="map-node" onKeyDown={pressed}>
      <div class="head">
        <h2 id="map-node" ref={heading} tabIndex={-1}>
          <span class="kind">Node</span> <Said text={name} />
        </h2>
        <p class="actions">
          <CopyCommand command={nodeCommand(name, about.value)} />
          <button type="button" onClick={() => void copy(new URL(mapAddress(choice), window.location.href).href)}>
            Copy link
          </button>
          {found !== null && (
            <button type="button" onClick={() => save(`node-${name}`, found)}>
              Save as JSON
            </button>
          )}
          <button type="button" onClick={close}>
            Close
          </button>
        </p>
      </div>
      {refusal !== null && <Refused refusal={refusal} hasOld={found !== null} />}
      {found === null && refusal === null && <p class="quiet">Loading…</p>}
      {found !== null && <Content room={found} choice={choice} resource={resource} />}
    </section>
  );
}

interface ContentProps extends Props {
  readonly room: NodeRoom;
}

function Content({ room, choice, resource }: ContentProps) {
  const labels = Object.entries(room.labels);
  return (
    <>
      {room.unschedulable && <p>It is unschedulable: it takes no new pods.</p>}
      {room.taints.length > 0 && (
        <p>
          Taints: <Said text={room.taints.join(", ")} />
        </p>
      )}
      <Missing rights={room.missing} />
      <Amounts room={room} first={resource} />
      {room.promised.length > 0 && <Promised pods={room.promised} resource={resource} choice={choice} />}
      <Pods pods={room.pods} resource={resource} choice={choice} />
      {labels.length > 0 && (
        <details>
          <summary>{grouped(labels.length)} labels</summary>
          <ul class="labels">
            {labels.map(([key, value]) => (
              <li key={key}>
                <Said text={`${key}=${value}`} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function Amounts({ room, first }: { readonly room: NodeRoom; readonly first: string }) {
  const isFirst = (name: string): number => (name === first ? 0 : 1);
  const resources = [...room.resources].sort((one, other) => isFirst(one.name) - isFirst(other.name));
  return (
    <table class="lines">
      <caption>Room</caption>
      <thead>
        <tr>
          <th scope="col">resource</th>
          {AMOUNTS.map(([key, title]) => (
            <th key={key} scope="col" class="number">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {resources.map((each) => (
          <tr key={each.name}>
            <th scope="row">
              <Said text={each.name} />
            </th>
            {AMOUNTS.map(([key, title]) => (
              <td key={key} class="number" data-title={title}>
                {amountText(each.name, each[key])}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface PodsProps<T> {
  readonly pods: readonly T[];
  readonly resource: string;
  readonly choice: MapChoice;
}

function Pods({ pods, resource, choice }: PodsProps<NodePod>) {
  if (pods.length === 0) return <p>There is no pod that you may see.</p>;
  return (
    <table class="lines">
      <caption>{pods.length === 1 ? "1 pod" : `${grouped(pods.length)} pods`} that you may see</caption>
      <PodTitles resource={resource} last="state" />
      <tbody>
        {pods.map((pod) => (
          <tr key={`${pod.namespace}/${pod.name}`}>
            <PodCells pod={pod} resource={resource} choice={choice} />
            <td data-title="state">
              {pod.leaving ? "leaving" : "used"}
              {pod.victimOf !== "" && (
                <>
                  , victim of <Said text={pod.victimOf} />
                </>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Promised({ pods, resource, choice }: PodsProps<PromisedPod>) {
  return (
    <table class="lines">
      <caption>Room is promised to {pods.length === 1 ? "1 pod" : `${grouped(pods.length)} pods`}</caption>
      <PodTitles resource={resource} last="plan" />
      <tbody>
        {pods.map((pod) => (
          <tr key={`${pod.namespace}/${pod.name}`}>
            <PodCells pod={pod} resource={resource} choice={choice} />
            <td data-title="plan">
              <Said text={pod.plan === "" ? "not known to you" : pod.plan} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function PodTitles({ resource, last }: { readonly resource: string; readonly last: string }) {
  return (
    <thead>
      <tr>
        <th scope="col">pod</th>
        <th scope="col">gang</th>
        <th scope="col" class="number">
          priority
        </th>
        <th scope="col" class="number">
          <Said text={resource} />
        </th>
        <th scope="col">{last}</th>
      </tr>
    </thead>
  );
}

interface CellsProps {
  readonly pod: NodePod | PromisedPod;
  readonly resource: string;
  readonly choice: MapChoice;
}

function PodCells({ pod, resource, choice }: CellsProps) {
  const { namespace, name, gang, priority } = pod;
  return (
    <>
      <th scope="row">
        <a href={answerAddress("pod", namespace, name)}>
          <ObjectName namespace={namespace} name={name} />
        </a>
      </th>
      <td data-title="gang">
        {gang !== "" && (
          <button type="button" class="link" onClick={() => choose({ ...choice, gang: gangKey(namespace, gang) })}>
            <Said text={gang} />
          </button>
        )}
      </td>
      <td data-title="priority" class="number">
        {priority}
      </td>
      <td data-title={printable(resource)} class="number">
        {amountText(resource, pod.requests[resource] ?? 0)}
      </td>
    </>
  );
}
