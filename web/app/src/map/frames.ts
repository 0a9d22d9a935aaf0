/** Puts frames of the stream into a map: the result is the map that the server would answer now. */

import type { Frame, FramePlans } from "../wire.ts";
import { answerOf, blocksOf, count, modelOf, nodeIn, ordered, partsBy, placesOf, planOf } from "./columns.ts";
import { Model, type Node, type Plan, promisesOf, type Stock } from "./model.ts";

/** How many gangs that are gone keep their numbers, besides as many as are there. */
const GONE = 1000;

/** Whether the frame can be put into a map of this version: "old" if the map has it, "gap" if one is missing. */
export function fits(version: string, frame: Pick<Frame, "since" | "version">): "yes" | "old" | "gap" {
  const [map, since, now] = [partsOf(version), partsOf(frame.since), partsOf(frame.version)];
  if (map.process !== now.process || map.rights !== now.rights) return "gap";
  if (now.number <= map.number) return "old";
  return since.number <= map.number ? "yes" : "gap";
}

/** A version is PROCESS-NUMBER-RIGHTS. */
function partsOf(version: string) {
  const [process = "", number = "", rights = ""] = version.split("-");
  return { process, number: Number(number), rights };
}

/** The map after those of the frames that fit, in their order, up to the first gap. */
export function fitted(model: Model, frames: readonly Frame[]): { readonly model: Model; readonly hasGap: boolean } {
  const fitting: Frame[] = [];
  let { version } = model.head;
  for (const frame of frames) {
    const fit = fits(version, frame);
    if (fit === "gap") return { model: applied(model, fitting), hasGap: true };
    if (fit === "old") continue;
    fitting.push(frame);
    version = frame.version;
  }
  return { model: applied(model, fitting), hasGap: false };
}

/** The map after the frames. It costs what has changed, and a copy of the list of nodes. */
export function applied(model: Model, frames: readonly Frame[]): Model {
  if (frames.length === 0) return model;
  const draft = new Draft(model.stock);
  for (const frame of frames) draft.put(frame);
  return compact(draft.made());
}

/** Without the gangs that are gone, if they are many. */
function compact(model: Model): Model {
  const { gangs, named } = model.stock;
  const here = named.reduce((sum, each) => sum + Number(each > 0), 0);
  return gangs.size > 2 * here + GONE ? modelOf(answerOf(model)) : model;
}

/** A model that is being made. */
class Draft {
  private readonly before: Stock;
  /** Undefined where one is gone. */
  private readonly nodes: (Node | undefined)[];
  private readonly named: number[];
  private readonly places: ReadonlyMap<string, number>;
  /** Where nodes are that have come. */
  private readonly come = new Map<string, number>();
  private head: Stock["head"];
  private plans: readonly Plan[];
  private isMoved = false;

  constructor(before: Stock) {
    this.before = before;
    this.nodes = [...before.nodes];
    this.named = [...before.named];
    this.places = before.places;
    this.head = before.head;
    this.plans = before.plans;
  }

  put(frame: Frame): void {
    const { version, moment, trouble } = frame;
    const topologyKeys = frame.topologyKeys ?? this.head.topologyKeys;
    this.head = {
      ...this.head,
      version,
      moment,
      trouble,
      topologyKeys,
      resources: frame.resources ?? this.head.resources,
    };
    const { gangs } = this.before;
    const numbers = gangs.numbersOf(frame.gangs);
    for (const name of frame.gone) this.drop(name);
    const parts = partsBy(frame.parts, numbers, frame.nodes.name.length, gangs);
    frame.nodes.name.forEach((_, at) => {
      this.set(nodeIn(frame.nodes, at, frame.nodes.block[at] ?? null, parts[at] ?? []));
    });
    if (frame.plans !== null) this.plan(frame.plans, numbers);
  }

  private at(name: string): number {
    return this.come.get(name) ?? this.places.get(name) ?? -1;
  }

  private drop(name: string): void {
    const at = this.at(name);
    const node = this.nodes[at];
    if (node === undefined) return;
    count(this.named, node.parts, -1);
    this.nodes[at] = undefined;
    this.isMoved = true;
  }

  private set(node: Node): void {
    const at = this.at(node.name);
    const known = this.nodes[at];
    if (known !== undefined && isSame(known, node)) return;
    if (known?.block !== node.block) this.isMoved = true;
    if (known !== undefined) count(this.named, known.parts, -1);
    count(this.named, node.parts, 1);
    if (at >= 0) this.nodes[at] = node;
    else this.come.set(node.name, this.nodes.push(node) - 1);
  }

  private plan({ order, changed }: FramePlans, numbers: readonly number[]): void {
    const known = new Map(this.plans.map((plan) => [idOf(plan), plan]));
    for (const plan of changed) {
      known.set(
        idOf(plan),
        planOf(plan, (node: string) => node, numbers),
      );
    }
    for (const { promised } of this.plans) count(this.named, promised, -1);
    this.plans = order.flatMap((id) => known.get(id) ?? []);
    for (const { promised } of this.plans) count(this.named, promised, 1);
  }

  made(): Model {
    const { before, head, named, plans } = this;
    const promises = plans === before.plans ? before.promises : promisesOf(plans);
    const nodes = this.nodes.filter((node) => node !== undefined);
    const same = { ...before, head, named, plans, promises, nodes };
    if (!this.isMoved) return new Model(same);
    const blocks = blocksOf(nodes);
    const sorted = ordered(nodes, blocks);
    return new Model({ ...same, blocks, nodes: sorted, places: placesOf(sorted) });
  }
}

const SHOWN = ["name", "block", "allocatable", "used", "leaving", "promised", "free", "anonymous"] as const;
const HAD = ["gang", "pods", "used", "leaving"] as const;

/** Field by field, because a frame may have thousands of nodes: as JSON, most of its time would go into this. */
function isSame(one: Node, other: Node): boolean {
  if (one.parts.length !== other.parts.length || SHOWN.some((field) => one[field] !== other[field])) return false;
  return one.parts.every((part, at) => HAD.every((field) => part[field] === other.parts[at]?.[field]));
}

function idOf({ kind, namespace, name, uid }: Pick<Plan, "kind" | "namespace" | "name" | "uid">): string {
  return [kind, namespace, name, uid].join("/");
}
