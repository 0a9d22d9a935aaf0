/** The map as a table: the same data, node by node. Arrows, Home and End move, Enter opens a node. */

import { useMemo, useState } from "preact/hooks";
import { type MapChoice, mapAddress } from "../../address.ts";
import { ON_NODES, storedCommand } from "../../command.ts";
import { save } from "../../files.ts";
import { amountText } from "../../map/amounts.ts";
import { answerOf } from "../../map/columns.ts";
import { ALONE } from "../../map/gangs.ts";
import type { Held, Model, Part } from "../../map/model.ts";
import { about } from "../../state.ts";
import { CopyCommand } from "../panel.tsx";
import { Said } from "../text.tsx";
import { useRows } from "../virtual.ts";
import { useFocus } from "../waiting_rows.tsx";
import { AMOUNTS } from "./said.ts";

const ESTIMATE = 40;
const PAGE = 10;
/** Gangs of a node that are named. */
const NAMED = 6;

interface Props {
  readonly model: Model;
  readonly choice: MapChoice;
  readonly found: ReadonlySet<string>;
  /** Only what is found is listed. */
  readonly isSearched: boolean;
}

export function MapTable({ model, choice, found, isSearched }: Props) {
  const [active, setActive] = useState(-1);
  const nodes = useMemo(() => listed(model, found, isSearched), [model, found, isSearched]);
  const rows = useRows(nodes.length, (at) => model.room(nodes[at] ?? -1).name, ESTIMATE, active);
  const focus = useFocus(rows);
  const pressed = (event: KeyboardEvent): void => {
    const to = target(event.key, active, nodes.length - 1);
    if (to === null) return;
    event.preventDefault();
    setActive(to);
    focus(to);
  };
  const { resource } = model.head;
  if (nodes.length === 0) return <p class="empty">No node is found.</p>;
  return (
    <section class="map-picture" aria-label="Map as table">
      <p class="actions">
        <CopyCommand command={storedCommand(ON_NODES, about.value)} />
        <button type="button" onClick={() => save("map-table", answerOf(model))}>
          Save as JSON
        </button>
      </p>
      <div class="rows" role="table" aria-label="Nodes" aria-rowcount={nodes.length + 1} onKeyDown={pressed}>
        <div role="rowgroup">
          <div class="node-row titles" role="row" aria-rowindex={1}>
            {["node", "block", ...AMOUNTS.map(([, title]) => title), "pods by gang"].map((title) => (
              <div key={title} role="columnheader">
                {title}
              </div>
            ))}
          </div>
        </div>
        <div role="rowgroup" ref={rows.holder} class="holder" style={{ height: `${rows.height}px` }}>
          {rows.shown.map(({ index, start, key }) => (
            <div
              key={key}
              ref={rows.measure}
              data-index={index}
              class="line"
              role="row"
              aria-rowindex={index + 2}
              style={{ transform: `translateY(${start}px)` }}
              onFocusIn={() => setActive(index)}
            >
              <NodeLine model={model} node={nodes[index] ?? -1} choice={choice} resource={resource} />
            </div>
          ))}
        </div>
      </div>
    </section>
  );
}

function listed(model: Model, found: ReadonlySet<string>, isSearched: boolean): number[] {
  const all = Array.from({ length: model.size }, (_, at) => at);
  return isSearched ? all.filter((node) => found.has(model.room(node).name)) : all;
}

function target(key: string, from: number, last: number): number | null {
  const steps = new Map([
    ["ArrowDown", from + 1],
    ["ArrowUp", from - 1],
    ["PageDown", from + PAGE],
    ["PageUp", from - PAGE],
    ["Home", 0],
    ["End", last],
  ]);
  const to = steps.get(key);
  return to === undefined ? null : Math.max(0, Math.min(to, last));
}

interface LineProps {
  readonly model: Model;
  readonly node: number;
  readonly choice: MapChoice;
  readonly resource: string;
}

function NodeLine({ model, node, choice, resource }: LineProps) {
  const room = model.room(node);
  return (
    <div class="node-row" role="presentation">
      <div role="cell">
        <a href={mapAddress({ ...choice, node: room.name })}>
          <Said text={room.name} />
        </a>
      </div>
      <div role="cell">
        <span class="label">block </span>
        <Said text={room.block ?? "without the label"} />
      </div>
      {AMOUNTS.map(([key, title]) => (
        <div key={key} role="cell" class="number">
          <span class="label">{title} </span>
          {amountText(resource, room[key])}
        </div>
      ))}
      <div role="cell" class="small">
        <Parts model={model} node={node} resource={resource} />
      </div>
    </div>
  );
}

function Parts({ model, node, resource }: { readonly model: Model; readonly node: number; readonly resource: string }) {
  const parts = [...model.parts(node)].sort((one, other) => other.used - one.used || one.gang - other.gang);
  const promised = model.promised(node);
  return (
    <>
      {parts.slice(0, NAMED).map((part, at) => (
        <span key={part.gang}>
          {at > 0 && ", "}
          <PartText part={part} model={model} resource={resource} />
        </span>
      ))}
      {parts.length > NAMED && `, and ${parts.length - NAMED} more`}
      {promised.map((held) => (
        <span key={`promised ${held.gang}`}>
          {" · "}promised to <PromisedText held={held} model={model} resource={resource} />
        </span>
      ))}
    </>
  );
}

interface TextProps {
  readonly model: Model;
  readonly resource: string;
}

function PartText({ part, model, resource }: TextProps & { readonly part: Part }) {
  return (
    <>
      {part.gang === ALONE ? "no gang" : <Said text={model.gangName(part.gang)} />} {part.pods}{" "}
      {part.pods === 1 ? "pod" : "pods"} ({amountText(resource, part.used)})
    </>
  );
}

function PromisedText({ held, model, resource }: TextProps & { readonly held: Held }) {
  return (
    <>
      {held.gang === ALONE ? "a pod without a gang" : <Said text={model.gangName(held.gang)} />} (
      {amountText(resource, held.amount)})
    </>
  );
}
