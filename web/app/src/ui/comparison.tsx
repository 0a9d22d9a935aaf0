/** Where it could be placed: the domains with their costs, or the places with their reasons. */

import type { Column, Comparison, Line } from "../comparison.ts";
import { printable } from "../printable.ts";
import type { Place, Turn } from "../wire.ts";
import { Said, Time, Word } from "./text.tsx";

/** The winner, the losers, and by which column each of them lost. On a narrow screen each row is a block. */
export function ComparisonTable({ comparison }: { readonly comparison: Comparison }) {
  const { columns, lines, others, topologyKey } = comparison;
  return (
    <table class="lines">
      <caption>
        {columns.length > 0
          ? "Costs are compared from left to right, and the first column that differs decides. The sum of priorities has each victim's priority plus 2³¹."
          : "The best domain comes first."}
      </caption>
      <thead>
        <tr>
          <th scope="col">{topologyKey === "" ? "domain" : <Said text={topologyKey} />}</th>
          <th scope="col">outcome</th>
          <th scope="col">reason</th>
          {columns.map((column) => (
            <th key={column.title} scope="col" class="number">
              <Said text={column.title} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {lines.map((line, at) => (
          <DomainRow key={at} line={line} columns={columns} />
        ))}
        {others.map((each, at) => (
          <tr key={at}>
            <th scope="row">{each.count} more</th>
            <td data-title="outcome">
              <Word text={each.outcome} />
            </td>
            <td data-title="reason" class="reason">
              <Said text={each.reason} />
            </td>
            <NoScore columns={columns} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface RowProps {
  readonly line: Line;
  readonly columns: readonly Column[];
}

function DomainRow({ line, columns }: RowProps) {
  return (
    <tr class={line.wins ? "wins" : undefined}>
      <th scope="row">
        <Said text={line.name} />
        {line.wins && <span class="mark">wins</span>}
      </th>
      <td data-title="outcome">
        <Word text={line.outcome} />
      </td>
      <td data-title="reason" class="reason">
        <Said text={line.reason} />
      </td>
      {line.cells === null && <NoScore columns={columns} />}
      {line.cells?.map((cell, at) => (
        <td key={at} class="number" data-title={printable(columns[at]?.title ?? "")}>
          <Cell text={cell} decides={at === line.decides} />
        </td>
      ))}
    </tr>
  );
}

function NoScore({ columns }: { readonly columns: readonly Column[] }) {
  if (columns.length === 0) return null;
  return (
    <td class="quiet number" colSpan={columns.length}>
      not worked out
    </td>
  );
}

function Cell({ text, decides }: { readonly text: string; readonly decides: boolean }) {
  if (!decides) return <Said text={text} />;
  return (
    <strong class="decides">
      <Said text={text} />
      <span class="mark">decides</span>
    </strong>
  );
}

export function Places({ places }: { readonly places: readonly Place[] }) {
  return (
    <table class="lines">
      <thead>
        <tr>
          <th scope="col">place</th>
          <th scope="col">outcome</th>
          <th scope="col">reason</th>
        </tr>
      </thead>
      <tbody>
        {places.map((place, at) => (
          <tr key={at}>
            <th scope="row">
              <Said text={place.name} />
            </th>
            <td data-title="outcome">
              <Word text={place.outcome} />
            </td>
            <td data-title="reason" class="reason">
              <Said text={place.reason} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Turns({ turns }: { readonly turns: readonly Turn[] }) {
  return (
    <table class="lines">
      <thead>
        <tr>
          <th scope="col">turn</th>
          <th scope="col">cluster</th>
          <th scope="col">phase</th>
          <th scope="col">from</th>
          <th scope="col">until</th>
          <th scope="col">reason</th>
        </tr>
      </thead>
      <tbody>
        {turns.map(({ plan, spec, status }) => (
          <tr key={plan}>
            <th scope="row">{spec.number}</th>
            <td data-title="cluster">
              <Said text={spec.cluster} />
            </td>
            <td data-title="phase">
              <Word text={status?.phase ?? ""} />
            </td>
            <td data-title="from">
              <Time time={spec.began} />
            </td>
            <td data-title="until">
              <Time time={status?.ended || spec.until} />
            </td>
            <td data-title="reason" class="reason">
              <Said text={status?.reason || spec.reason} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
