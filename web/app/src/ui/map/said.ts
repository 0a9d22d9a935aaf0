import { amountText } from "../../map/amounts.ts";
import type { Model, Room } from "../../map/model.ts";
import { printable } from "../../printable.ts";

/** Which amounts a node has, in the order of the table. */
export const AMOUNTS: readonly (readonly [
  keyof Room & ("allocatable" | "used" | "leaving" | "promised" | "free" | "anonymous"),
  string,
])[] = [
  ["allocatable", "allocatable"],
  ["used", "used"],
  ["leaving", "leaving"],
  ["promised", "promised"],
  ["free", "free"],
  ["anonymous", "of others"],
];

/** A node in one line, for people who cannot see the map. */
export function lineOf(model: Model, node: number): string {
  const room = model.room(node);
  const { resource } = model.head;
  const amounts = AMOUNTS.filter(([key]) => key === "allocatable" || room[key] > 0).map(
    ([key, name]) => `${amountText(resource, room[key])} ${name}`,
  );
  const where = room.block === null ? "" : ` in ${printable(room.block)}`;
  return `${printable(room.name)}${where}, ${printable(resource)}: ${amounts.join(", ")}.`;
}
