/** The map: nodes in blocks, who holds their room, and to whom it is promised. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type MapChoice, mapAddress } from "../../address.ts";
import { amountText } from "../../map/amounts.ts";
import { isPlaced, type Layout, layOut } from "../../map/layout.ts";
import { gangKey, Model } from "../../map/model.ts";
import { route } from "../../state.ts";
import { grouped } from "../../waiting.ts";
import type { Map as NodeMap } from "../../wire.ts";
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

/** By topology key: a node keeps its place while the page is open. */
const layouts = new Map<string, Layout>();

/** Show something else. The history gets a step only for another node. */
export function choose(choice: MapChoice): void {
  const address = mapAddress(choice);
  window.history.replaceState(null, "", address);
  route.value = { view: "map", choice };
}

export function MapView({ choice }: { readonly choice: MapChoice }) {
  const title = useTitle("Map");
  const loader = useMap(choice);
  const found = loader.answer.value;
  const refusal = loader.refusal.value;
  return (
    <>
      <div class="head">
        <h1 ref={title} tabIndex={-1}>
          Map
        </h1>
        <p class="quiet summary" role="status">
          {found !== null && <Summary map={found} />}
        </p>
      </div>
      <NamespaceForm />
      {refusal !== null && <Refused refusal={refusal} hasOld={found !== null} />}
      {found === null && refusal === null && <p class="quiet">Loading…</p>}
      {found !== null && <Content map={found} choice={choice} />}
    </>
  );
}

function Summary({ map }: { readonly map: NodeMap }) {
  const { nodes, resource, blocks } = map;
  const sum = (amounts: readonly number[]): string =>
    amountText(
      resource,
      amounts.reduce((all, each) => all + each, 0),
    );
  const where =
    map.topologyKey === "" ? "" : ` in ${grouped(blocks.length)} ${blocks.length === 1 ? "block" : "blocks"}`;
  return (
    <>
      {grouped(nodes.name.length)} {nodes.name.length === 1 ? "node" : "nodes"}
      {where} · <Said text={resource} />: {sum(nodes.allocatable)} in all, {sum(nodes.free)} free
    </>
  );
}

function Content({ map, choice }: { readonly map: NodeMap; readonly choice: MapChoice }) {
  const model = useMemo(() => new Model(map), [map]);
  const layout = useMemo(() => placed(map), [map]);
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
      {map.unread !== "" && (
        <Notice kind="warn" title="The page has not read everything.">
          <Said text={map.unread} />
        </Notice>
      )}
      <MapTools map={map} choice={choice} search={search} setSearch={setSearch} found={found.size} />
      <Missing rights={map.missing} />
      {choice.gang !== "" && <GangPanel model={model} choice={choice} />}
      <div class="map-parts">
        {choice.isTable ? (
          <MapTable model={model} choice={choice} found={found} isSearched={search.trim() !== ""} />
        ) : (
          <MapPicture model={model} layout={layout} choice={choice} found={found} />
        )}
        {choice.node !== "" && <NodePanel key={choice.node} choice={choice} resource={map.resource} />}
      </div>
    </>
  );
}

function placed(map: NodeMap): Layout {
  const nodes = map.nodes.name.map((name, at) => ({ name, block: map.blocks[map.nodes.block[at] ?? -1] ?? null }));
  const before = layouts.get(map.topologyKey) ?? null;
  if (before !== null && isPlaced(before, nodes)) return before;
  const layout = layOut(nodes, before);
  layouts.set(map.topologyKey, layout);
  return layout;
}

/** The nodes that have the text in their name, in that of their block, or in that of a gang with pods or room there. */
function foundIn(model: Model, search: string): ReadonlySet<string> {
  const text = search.trim().toLowerCase();
  const found = new Set<string>();
  if (text === "") return found;
  const { gangs } = model.answer;
  const named = new Set<number>();
  gangs.name.forEach((name, at) => {
    if (
      gangKey(gangs.namespace[at] ?? "", name)
        .toLowerCase()
        .includes(text)
    )
      named.add(at);
  });
  for (let node = 0; node < model.size; node++) {
    const { name, block } = model.room(node);
    const isNamed = name.toLowerCase().includes(text) || (block ?? "").toLowerCase().includes(text);
    const holds = (): boolean => [...model.parts(node), ...model.promised(node)].some(({ gang }) => named.has(gang));
    if (isNamed || (named.size > 0 && holds())) found.add(name);
  }
  return found;
}
