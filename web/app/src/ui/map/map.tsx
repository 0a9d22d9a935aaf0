/** The map: nodes in blocks, who holds their room, and to whom it is promised. */

import type { ReadonlySignal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type MapChoice, mapAddress } from "../../address.ts";
import { amountText } from "../../map/amounts.ts";
import type { Model, Room } from "../../map/model.ts";
import { route } from "../../state.ts";
import { grouped } from "../../waiting.ts";
import { NamespaceForm } from "../namespaces.tsx";
import { Missing, Notice } from "../notices.tsx";
import { Refused } from "../refused.tsx";
import { Said } from "../text.tsx";
import { useTitle } from "../title.ts";
import { GangPanel } from "./gang_panel.tsx";
import { NodePanel } from "./node_panel.tsx";
import { MapPicture } from "./picture.tsx";
import { MapTable } from "./table.tsx";
import { MapTools } from "./tools.tsx";
import { useMap } from "./use_map.ts";

/** Show something else. The history gets a step only for another node. */
export function choose(choice: MapChoice): void {
  const address = mapAddress(choice);
  window.history.replaceState(null, "", address);
  route.value = { view: "map", choice };
}

export function MapView({ choice }: { readonly choice: MapChoice }) {
  const title = useTitle("Map");
  const { loader, calm } = useMap(choice);
  const found = calm.value.value;
  const refusal = loader.refusal.value;
  return (
    <>
      <div class="head">
        <h1 ref={title} tabIndex={-1}>
          Map
        </h1>
        <p class="quiet summary" role="status">
          {found !== null && <Summary model={found} />}
        </p>
      </div>
      <NamespaceForm />
      {refusal !== null && <Refused refusal={refusal} hasOld={found !== null} />}
      {found === null && refusal === null && <p class="quiet">Loading…</p>}
      {found !== null && <Content model={found} newest={loader.answer} choice={choice} />}
    </>
  );
}

function Summary({ model }: { readonly model: Model }) {
  const { blocks, nodes } = model.stock;
  const { resource, topologyKey } = model.head;
  const sum = (amountOf: (room: Room) => number): string =>
    amountText(
      resource,
      nodes.reduce((all, node) => all + amountOf(node), 0),
    );
  const where = topologyKey === "" ? "" : ` in ${grouped(blocks.length)} ${blocks.length === 1 ? "block" : "blocks"}`;
  return (
    <>
      {grouped(nodes.length)} {nodes.length === 1 ? "node" : "nodes"}
      {where} · <Said text={resource} />: {sum((room) => room.allocatable)} in all, {sum((room) => room.free)} free
    </>
  );
}

interface ContentProps {
  /** What texts say. */
  readonly model: Model;
  /** What the picture shows: it follows each frame. */
  readonly newest: ReadonlySignal<Model | null>;
  readonly choice: MapChoice;
}

function Content({ model, newest, choice }: ContentProps) {
  const { head } = model;
  const [search, setSearch] = useState("");
  const found = useMemo(() => foundIn(model, search), [model, search]);
  const opened = useRef("");
  useEffect(() => {
    // The panel takes the focus when it opens, and gives it back when it closes.
    if (choice.node === "" && opened.current !== "") document.querySelector<HTMLElement>(".map-window")?.focus();
    opened.current = choice.node;
  }, [choice.node]);
  if (model.size === 0) return <p class="empty">There are no nodes.</p>;
  return (
    <>
      {head.unread !== "" && (
        <Notice kind="warn" title="The page has not read everything.">
          <Said text={head.unread} />
        </Notice>
      )}
      <MapTools head={head} choice={choice} search={search} setSearch={setSearch} found={found.size} />
      <Missing rights={head.missing} />
      {choice.gang !== "" && <GangPanel model={model} choice={choice} />}
      <div class="map-parts">
        {choice.isTable ? (
          <MapTable model={model} choice={choice} found={found} isSearched={search.trim() !== ""} />
        ) : (
          <MapPicture model={model} newest={newest} choice={choice} found={found} />
        )}
        {choice.node !== "" && <NodePanel key={choice.node} choice={choice} resource={head.resource} />}
      </div>
    </>
  );
}

/** The nodes that have the text in their name, in that of their block, or in that of a gang with pods or room there. */
function foundIn(model: Model, search: string): ReadonlySet<string> {
  const text = search.trim().toLowerCase();
  const found = new Set<string>();
  if (text === "") return found;
  const isNamedSo = (gang: number): boolean => model.gangName(gang).toLowerCase().includes(text);
  const { gangs } = model.stock;
  const named = new Set(Array.from({ length: gangs.size }, (_, gang) => gang).filter(isNamedSo));
  for (let node = 0; node < model.size; node++) {
    const { name, block } = model.room(node);
    const isNamed = name.toLowerCase().includes(text) || (block ?? "").toLowerCase().includes(text);
    const holds = (): boolean => [...model.parts(node), ...model.promised(node)].some(({ gang }) => named.has(gang));
    if (isNamed || (named.size > 0 && holds())) found.add(name);
  }
  return found;
}
