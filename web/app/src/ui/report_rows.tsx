/** Rows of a report with their numbers: decisions of a day, of a namespace, or with another thing in common. */

import { seconds, victimsOf } from "../report.ts";
import type { ReportRow } from "../wire.ts";
import { Bars } from "./bars.tsx";
import { Said } from "./text.tsx";

type Column = readonly [string, (row: ReportRow) => string];

const COMPARED: Column = ["compared", (row) => `${row.compared} of ${row.decisions}`];
const VICTIMS: readonly Column[] = [
  COMPARED,
  ["ours", (row) => String(row.ours.pods)],
  ["scheduler's", (row) => String(row.scheduler.pods)],
  ["served nobody", (row) => String(row.scheduler.servedNobody)],
];
const GANGS: readonly Column[] = [
  ["groups broken", (row) => String(row.scheduler.groupsBroken)],
  ["in pieces", (row) => String(row.scheduler.inPieces)],
  ["seconds in pieces", (row) => String(row.scheduler.inPiecesSeconds)],
  ["bound", (row) => String(row.scheduler.bound)],
  ["median seconds until bound", (row) => seconds(row.scheduler.medianSecondsUntilBound)],
];

interface Props {
  readonly rows: readonly ReportRow[];
  /** Where the name of a row leads; empty: it leads nowhere. */
  readonly address: (name: string) => string;
  /** The name of the row that is chosen. */
  readonly chosen?: string;
}

/** Victims with their bars. `brief`: without what a table of gangs says. */
export function RowsBy({
  what,
  brief = false,
  ...others
}: Props & { readonly what: string; readonly brief?: boolean }) {
  return <Table what={what} columns={brief ? VICTIMS : [...VICTIMS, ...GANGS]} hasBars={true} {...others} />;
}

/** What became of gangs, by day. */
export function GangRows(props: Props) {
  return <Table what="day" columns={GANGS} hasBars={false} {...props} />;
}

interface TableProps extends Props {
  readonly what: string;
  readonly columns: readonly Column[];
  readonly hasBars: boolean;
}

function Table({ what, columns, hasBars, rows, address, chosen = "" }: TableProps) {
  const bars = rows.map(victimsOf);
  return (
    <table class="lines">
      <thead>
        <tr>
          <th scope="col">{what}</th>
          {columns.map(([title]) => (
            <th key={title} scope="col" class="number">
              {title}
            </th>
          ))}
          {hasBars && (
            <th scope="col">
              <span class="unseen">bars</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <tr key={at} class={chosen !== "" && row.name === chosen ? "chosen" : undefined}>
            <th scope="row">
              <RowName name={row.name} address={address(row.name)} isChosen={row.name === chosen} />
            </th>
            {columns.map(([title, of]) => (
              <td key={title} data-title={title} class="number">
                {of(row)}
              </td>
            ))}
            {hasBars && (
              <td class="bars">
                <Bars row={bars[at] ?? victimsOf(row)} rows={bars} />
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface NameProps {
  readonly name: string;
  readonly address: string;
  readonly isChosen: boolean;
}

function RowName({ name, address, isChosen }: NameProps) {
  if (address === "" || name === "") return <Said text={name} />;
  return (
    <a href={address} aria-current={isChosen ? "true" : undefined}>
      <Said text={name} />
    </a>
  );
}
