/** Where the nodes of a map stand, as long as the page is open. */

import { isPlaced, type Layout, layOut } from "./layout.ts";
import type { Model, Stock } from "./model.ts";

interface Kept {
  readonly places: Stock["places"];
  readonly layout: Layout;
}

/** By topology key. */
const kept = new Map<string, Kept>();

/** The layout for the newest model. A node keeps its place. */
export function placed({ head, stock }: Model): Layout {
  const before = kept.get(head.topologyKey);
  if (before?.places === stock.places) return before.layout;
  const isAsBefore = before !== undefined && isPlaced(before.layout, stock.nodes);
  const layout = isAsBefore ? before.layout : layOut(stock.nodes, before?.layout ?? null);
  kept.set(head.topologyKey, { places: stock.places, layout });
  return layout;
}
