/** The gang that is brought out: where it is, where its plan gives it room, and its victims. */

import { answerAddress, halves, type MapChoice } from "../../address.ts";
import { whyCommand } from "../../command.ts";
import { copy } from "../../files.ts";
import { amountText } from "../../map/amounts.ts";
import { ALONE } from "../../map/gangs.ts";
import type { Model, Plan as PlanRoom } from "../../map/model.ts";
import { about } from "../../state.ts";
import { grouped } from "../../waiting.ts";
import { ObjectName, Said } from "../text.tsx";
import { choose } from "./map.tsx";

/** Nodes and victims that are named one by one. */
const NAMED = 12;

export function GangPanel({ model, choice }: { readonly model: Model; readonly choice: MapChoice }) {
  const [namespace, name] = halves(choice.gang, "/");
  const gang = model.gangAt(choice.gang);
  const plan = model.planOf(gang);
  const command = whyCommand("podgroup", namespace, name, about.value?.command ?? "");
  return (
    <section class="map-panel" aria-labelledby="map-gang">
      <div class="head">
        <h2 id="map-gang">
          <a href={answerAddress("podgroup", namespace, name)}>
            <span class="kind">PodGroup</span> <ObjectName namespace={namespace} name={name} />
          </a>
        </h2>
        <p class="actions">
          <button type="button" onClick={() => void copy(command)} title={command}>
            Copy as command
          </button>
          <button type="button" onClick={() => choose({ ...choice, gang: "" })}>
            Bring out nothing
          </button>
        </p>
      </div>
      {gang === ALONE && <p>It has no pod on a node, and no plan for it is carried out.</p>}
      {gang !== ALONE && <Where model={model} gang={gang} choice={choice} />}
      {plan !== null && <Plan model={model} plan={plan} choice={choice} />}
    </section>
  );
}

interface WhereProps {
  readonly model: Model;
  readonly gang: number;
  readonly choice: MapChoice;
}

function Where({ model, gang, choice }: WhereProps) {
  const { resource } = model.head;
  const rows = model.stock.nodes.flatMap(({ name, parts }) =>
    parts.filter((part) => part.gang === gang).map(({ pods, used }) => ({ name, pods, used })),
  );
  if (rows.length === 0) return <p>None of its pods has a node.</p>;
  return (
    <p>
      It has{" "}
      {counted(
        sum(rows, ({ pods }) => pods),
        "pod",
      )}{" "}
      on {counted(rows.length, "node")} (
      {amountText(
        resource,
        sum(rows, ({ used }) => used),
      )}{" "}
      <Said text={resource} />
      ): <Nodes names={rows.map(({ name }) => name)} choice={choice} />
    </p>
  );
}

interface PlanProps {
  readonly model: Model;
  readonly plan: PlanRoom;
  readonly choice: MapChoice;
}

function Plan({ model, plan, choice }: PlanProps) {
  const { resource } = model.head;
  const { promised, victims } = plan;
  const groups = new Map<number, number>();
  for (const { gang, pods } of victims) groups.set(gang, (groups.get(gang) ?? 0) + pods);
  return (
    <>
      {promised.length > 0 && (
        <p>
          Its plan promises{" "}
          {counted(
            sum(promised, ({ pods }) => pods),
            "pod",
          )}{" "}
          room on {counted(promised.length, "node")} (
          {amountText(
            resource,
            sum(promised, ({ amount }) => amount),
          )}{" "}
          <Said text={resource} />
          ): <Nodes names={promised.map(({ node }) => node)} choice={choice} />
        </p>
      )}
      {groups.size > 0 && (
        <p>
          Victims that are still there, as far as you may see them:{" "}
          {[...groups].slice(0, NAMED).map(([gang, pods], at) => (
            <span key={gang}>
              {at > 0 && ", "}
              {counted(pods, "pod")} of{" "}
              {gang === ALONE ? "no gang" : <Gang name={model.gangName(gang)} choice={choice} />}
            </span>
          ))}
          {groups.size > NAMED && `, and of ${grouped(groups.size - NAMED)} more`}.
        </p>
      )}
    </>
  );
}

function Gang({ name, choice }: { readonly name: string; readonly choice: MapChoice }) {
  return (
    <button type="button" class="link" onClick={() => choose({ ...choice, gang: name })}>
      <Said text={name} />
    </button>
  );
}

function Nodes({ names, choice }: { readonly names: readonly string[]; readonly choice: MapChoice }) {
  return (
    <>
      {names.slice(0, NAMED).map((name, at) => (
        <span key={name}>
          {at > 0 && ", "}
          <button type="button" class="link" onClick={() => choose({ ...choice, node: name })}>
            <Said text={name} />
          </button>
        </span>
      ))}
      {names.length > NAMED && `, and ${grouped(names.length - NAMED)} more`}
    </>
  );
}

function sum<T>(rows: readonly T[], amountOf: (row: T) => number): number {
  return rows.reduce((all, row) => all + amountOf(row), 0);
}

function counted(count: number, what: string): string {
  return `${grouped(count)} ${what}${count === 1 ? "" : "s"}`;
}
