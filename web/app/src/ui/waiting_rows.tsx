/** The rows of the list: as many as ten thousand. Arrows, Home and End move between them, and Enter opens one. */

import { useRef, useState } from "preact/hooks";
import { answerAddress } from "../address.ts";
import { age } from "../times.ts";
import { detailsOf, grouped, type Item, kindName, type Section } from "../waiting.ts";
import type { Row } from "../wire.ts";
import { ObjectName, Said, State, Time } from "./text.tsx";
import { type Rows, useRows } from "./virtual.ts";

const ESTIMATE = 58;
const PAGE = 10;
const COLUMNS = ["Place", "Name", "State", "Since", "Why"];

export function WaitingRows({ items, moment }: { readonly items: readonly Item[]; readonly moment: string }) {
  const [active, setActive] = useState(-1);
  const rows = useRows(items.length, (at) => keyOf(items[at]), ESTIMATE, active);
  const focus = useFocus(rows);
  const pressed = (event: KeyboardEvent): void => {
    const to = target(event.key, active, items);
    if (to === null) return;
    event.preventDefault();
    setActive(to);
    focus(to);
  };
  return (
    <div class="rows" role="table" aria-label="What waits" aria-rowcount={items.length + 1} onKeyDown={pressed}>
      <div role="rowgroup">
        <div class="row titles" role="row" aria-rowindex={1}>
          {COLUMNS.map((title) => (
            <div key={title} class={title === "Place" ? "place" : undefined} role="columnheader">
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
            <Line item={items[index]} moment={moment} />
          </div>
        ))}
      </div>
    </div>
  );
}

function Line({ item, moment }: { readonly item: Item | undefined; readonly moment: string }) {
  if (item === undefined) return null;
  return "row" in item ? <RowLine row={item.row} moment={moment} /> : <SectionLine section={item.section} />;
}

function SectionLine({ section }: { readonly section: Section }) {
  return (
    <div class="section" role="rowheader" aria-colspan={COLUMNS.length}>
      <strong>{section.title}</strong> <span class="count">{countOf(section)}</span>{" "}
      <span class="quiet">{section.order}</span>
    </div>
  );
}

function countOf(section: Section): string {
  const all = grouped(section.of);
  return section.rows.length === section.of ? all : `${grouped(section.rows.length)} of ${all}`;
}

function RowLine({ row, moment }: { readonly row: Row; readonly moment: string }) {
  const said = detailsOf(row);
  return (
    <div class="row" role="presentation">
      <div class="place" role="cell">
        {row.place !== null && (
          <>
            <span class="label">place </span>
            {row.place}
          </>
        )}
      </div>
      <div role="cell">
        <a href={answerAddress(row.kind, row.namespace, row.name)}>
          <span class="unseen">{kindName(row.kind)} </span>
          <ObjectName namespace={row.namespace} name={row.name} />
        </a>
        <p class="quiet small">
          {said.map((each, at) => (
            <span key={at}>
              {at > 0 && " · "}
              <Said text={each} />
            </span>
          ))}
        </p>
      </div>
      <div role="cell">
        <State state={row.state} waits={true} />
      </div>
      <div class="since" role="cell">
        <Since since={row.since} moment={moment} />
      </div>
      <div class="why" role="cell">
        <Said text={row.sentence} />
      </div>
    </div>
  );
}

function Since({ since, moment }: { readonly since: string; readonly moment: string }) {
  if (since === "") return null;
  const passed = age(since, moment);
  return (
    <>
      <span class="label">since </span>
      <span class="ago">{passed}</span>{" "}
      <span class="quiet small">
        <Time time={since} />
      </span>
    </>
  );
}

function keyOf(item: Item | undefined): string {
  if (item === undefined) return "";
  return "row" in item ? `${item.row.kind} ${item.row.namespace}/${item.row.name}` : item.section.id;
}

/** The row that a key leads to; null if it is no key of a list. Headings of sections are passed over. */
function target(key: string, from: number, items: readonly Item[]): number | null {
  const last = items.length - 1;
  switch (key) {
    case "ArrowDown":
      return nextRow(items, from + 1, 1);
    case "ArrowUp":
      return nextRow(items, from - 1, -1);
    case "PageDown":
      return nextRow(items, Math.min(from + PAGE, last), 1) ?? nextRow(items, last, -1);
    case "PageUp":
      return nextRow(items, Math.max(from - PAGE, 0), -1) ?? nextRow(items, 0, 1);
    case "Home":
      return nextRow(items, 0, 1);
    case "End":
      return nextRow(items, last, -1);
    default:
      return null;
  }
}

function nextRow(items: readonly Item[], from: number, step: number): number | null {
  for (let at = from; at >= 0 && at < items.length; at += step) {
    const item = items[at];
    if (item !== undefined && "row" in item) return at;
  }
  return null;
}

/** Puts the focus on the link of a row, which may have to come into the document first. */
export function useFocus(rows: Rows): (index: number) => void {
  const wanted = useRef(-1);
  const tryNow = (): void => {
    const link = rows.holder.current?.querySelector<HTMLElement>(`[data-index="${wanted.current}"] a`);
    if (link == null) return;
    wanted.current = -1;
    link.focus({ preventScroll: true });
    link.scrollIntoView({ block: "nearest" });
  };
  if (wanted.current >= 0) requestAnimationFrame(tryNow);
  return (index) => {
    wanted.current = index;
    rows.scrollTo(index);
    requestAnimationFrame(tryNow);
  };
}
