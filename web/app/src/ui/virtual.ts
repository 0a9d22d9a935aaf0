/** A list of many rows in the page: only those that one sees, and a few more, are in the document. */

import {
  observeWindowOffset,
  observeWindowRect,
  type VirtualItem,
  Virtualizer,
  windowScroll,
} from "@tanstack/virtual-core";
import { useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";

const AROUND = 12;

export interface Rows {
  /** Goes to the element that holds the rows. */
  readonly holder: { current: HTMLDivElement | null };
  /** Of all rows, in pixels. */
  readonly height: number;
  /** Those that are in the document. `start` counts from the holder. */
  readonly shown: readonly VirtualItem[];
  /** Measures a row. It goes to each of them as `ref`. */
  readonly measure: (element: Element | null) => void;
  readonly scrollTo: (index: number) => void;
}

/** `keep`: a row that stays in the document wherever one scrolls, since it has the focus; -1 for none. */
export function useRows(count: number, keyOf: (index: number) => string, estimate: number, keep: number): Rows {
  const holder = useRef<HTMLDivElement>(null);
  const [, draw] = useReducer((drawn: number) => drawn + 1, 0);
  const margin = useRef(0);
  const options = {
    count,
    getItemKey: keyOf,
    estimateSize: () => estimate,
    overscan: AROUND,
    scrollMargin: margin.current,
    getScrollElement: () => window,
    observeElementRect: observeWindowRect,
    observeElementOffset: observeWindowOffset,
    scrollToFn: windowScroll,
    initialOffset: () => window.scrollY,
    initialRect: { width: window.innerWidth, height: window.innerHeight },
    rangeExtractor: (range: { startIndex: number; endIndex: number; overscan: number; count: number }) =>
      withKept(range, keep),
    onChange: () => draw(undefined),
  };
  const [virtualizer] = useState(() => new Virtualizer<Window, Element>(options));
  virtualizer.setOptions(options);
  useLayoutEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => {
    const top = holder.current === null ? 0 : holder.current.getBoundingClientRect().top + window.scrollY;
    if (Math.abs(top - margin.current) > 1) {
      margin.current = top;
      draw(undefined);
    }
    virtualizer._willUpdate();
  });
  const shown = virtualizer.getVirtualItems();
  return {
    holder,
    height: virtualizer.getTotalSize(),
    shown: shown.map((item) => ({ ...item, start: item.start - margin.current })),
    measure: virtualizer.measureElement,
    scrollTo: (index) => virtualizer.scrollToIndex(index, { align: "auto" }),
  };
}

interface Range {
  readonly startIndex: number;
  readonly endIndex: number;
  readonly overscan: number;
  readonly count: number;
}

/** The rows that are in the document, in their order. */
export function withKept(range: Range, keep: number): number[] {
  const first = Math.max(0, range.startIndex - range.overscan);
  const last = Math.min(range.count - 1, range.endIndex + range.overscan);
  const rows = Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => first + at);
  if (keep < 0 || keep >= range.count || (keep >= first && keep <= last)) return rows;
  return keep < first ? [keep, ...rows] : [...rows, keep];
}
