/** The trees of queues: what they hold as parts of a bar, and in the words of the command (`cli/queue/render.py`). */

import { amountOf } from "./quantity.ts";
import { grouped } from "./waiting.ts";
import type { Account, QueueAnswer, QueueNode, Queues, QueueVictim, Reclaim, WaitingWorkload } from "./wire.ts";

/** A node with those below it. */
export interface Branch {
  readonly node: QueueNode;
  readonly below: readonly Branch[];
}

/** What a part of a bar shows. Lent for sure, and lent perhaps: nobody knows whose quota is borrowed. */
export type PartKind = "used" | "borrowed" | "perhaps" | "lent";

/** A part of a bar. `from` and `to` are shares of the whole bar. */
export interface Part {
  readonly kind: PartKind;
  readonly from: number;
  readonly to: number;
}

export interface Bar {
  readonly parts: readonly Part[];
  /** Where the quota ends, as a share of the bar; null if there is no end. */
  readonly quota: number | null;
}

const RULES = new Map([
  ["InCohortReclamation", "reclaimWithinCohort"],
  ["InCohortReclaimWhileBorrowing", "borrowWithinCohort"],
  ["InCohortFairSharing", "fair sharing"],
]);
const OUTCOMES = new Map([
  ["Admit", "it fits"],
  ["Preempt", "it preempts {victims}"],
  ["DeferredFit", "it fits once others are gone"],
  ["Gated", "its preemption gate is closed; it would preempt {victims}"],
  ["NoCandidates", "no workload may be preempted for it. {message}"],
  ["NoFit", "no room. {message}"],
  ["Skip", "{message}"],
  ["Inadmissible", "{message}"],
  ["Unknown", "{message}"],
]);
const HIDDEN = "a Workload of another namespace";

/** The roots with what is below them. The nodes come in the order of a tree that is read from above. */
export function branchesOf(nodes: readonly QueueNode[]): Branch[] {
  const roots: Branch[] = [];
  const open: Branch[][] = [roots];
  for (const node of nodes) {
    const below: Branch[] = [];
    open.length = node.depth + 1;
    open[node.depth]?.push({ node, below });
    open.push(below);
  }
  return roots;
}

/** The nodes of a tree, each with the name of the Cohort that it is in; empty for a root. */
export function withParents(nodes: readonly QueueNode[]): { readonly node: QueueNode; readonly parent: string }[] {
  const above: string[] = [];
  return nodes.map((node) => {
    above.length = node.depth;
    const parent = above.at(-1) ?? "";
    above.push(node.name);
    return { node, parent };
  });
}

/** Flavor and resource in one text, by which the view is narrowed. */
export function pairOf(account: { readonly flavor: string; readonly resource: string }): string {
  return `${account.resource} in flavor ${account.flavor}`;
}

/** All pairs that occur, in order. */
export function pairsOf(queues: Queues): string[] {
  const found = queues.trees.flatMap((tree) => tree.flatMap((node) => node.quota.map(pairOf)));
  return [...new Set(found)].sort();
}

/** The accounts that are shown. `pair`: empty for all. */
export function accountsOf(node: { readonly quota: readonly Account[] }, pair: string): readonly Account[] {
  return pair === "" ? node.quota : node.quota.filter((each) => pairOf(each) === pair);
}

/** The bar of an account: its whole width is the quota, or what is used if that is more. Without an end it is empty. */
export function barOf(account: Account): Bar {
  const quota = amountOf(account.quota);
  const used = amountOf(account.used);
  if (!Number.isFinite(quota)) return { parts: [], quota: null };
  const borrowed = Math.min(used, amountOf(account.borrowed));
  const whole = Math.max(quota, used);
  if (whole <= 0) return { parts: [], quota: 0 };
  const most = Math.min(quota, amountOf(account.lentAtMost));
  const least = Math.min(most, amountOf(account.lentAtLeast));
  const spans: readonly (readonly [PartKind, number, number])[] = [
    ["used", 0, used - borrowed],
    ["borrowed", used - borrowed, used],
    ["perhaps", quota - most, quota - least],
    ["lent", quota - least, quota],
  ];
  const parts = spans.filter(([, from, to]) => to > from);
  return {
    parts: parts.map(([kind, from, to]) => ({ kind, from: from / whole, to: to / whole })),
    quota: quota / whole,
  };
}

/** What is lent: a range if nobody knows whose quota is borrowed. */
export function lentOf(account: Account): string {
  const { lentAtLeast: least, lentAtMost: most } = account;
  return least === most ? least : `${least} to ${most}`;
}

/** What an account says besides its bar. */
export function accountWords(account: Account): string {
  const said = [`${account.used} used of ${account.quota}`];
  if (account.borrowed !== "0") said.push(`${account.borrowed} borrowed`);
  if (account.lentAtMost !== "0") said.push(`${lentOf(account)} lent`);
  return [...said, `${account.free} free`].join(", ");
}

/** The limits of what a queue borrows and lends. */
export function limitsOf(account: Account): string[] {
  const said: string[] = [];
  const { resource, flavor, borrowingLimit, lendingLimit } = account;
  if (borrowingLimit !== null) said.push(`It borrows at most ${borrowingLimit} ${resource} in flavor ${flavor}.`);
  if (lendingLimit !== null) said.push(`It lends at most ${lendingLimit} ${resource} in flavor ${flavor}.`);
  return said;
}

/** What could be taken back, for whom and by which rules. */
export function reclaimWords(reclaim: Reclaim): string {
  const { amount, resource, flavor, free, abovePriority } = reclaim;
  const rules = [...new Set(reclaim.rules.map((rule) => RULES.get(rule) ?? rule))].join(" and ");
  const part = free === "0" ? "" : `, ${free} of it free already`;
  const how = reclaim.withinNominal ? "within its nominal quota" : "beyond its nominal quota";
  const least = typeof abovePriority === "number" ? ` of priority above ${abovePriority}` : "";
  return `${amount} ${resource} in flavor ${flavor}${part}, ${how}, for a Workload${least}, by ${rules}`;
}

/** What one who would lose quota holds. Empty if one may not know it. */
export function victimWords(victim: QueueVictim, resource: string): string {
  if (victim.workload === undefined) return `of ${victim.clusterQueue}`;
  const leaving = victim.evicting ? ", leaving already" : "";
  return `${victim.holds ?? ""} ${resource} of ${victim.clusterQueue}, priority ${victim.priority ?? ""}${leaving}`;
}

/** The name of one who would lose quota. */
export function victimName(name: string | undefined): string {
  return name === undefined || name === "" ? HIDDEN : name;
}

/** What becomes of a Workload if it is tried next, alone. */
export function outcomeWords(waiting: WaitingWorkload): string {
  const form = OUTCOMES.get(waiting.outcome) ?? waiting.outcome;
  const names = waiting.victims.map(victimName).join(", ");
  // A function, since a text may have signs that `replace` would read.
  const said = form.replace("{victims}", () => names).replace("{message}", () => waiting.message) + partWords(waiting);
  return waiting.notModelled.length === 0 ? said : doubted(said, waiting.notModelled);
}

function partWords(waiting: WaitingWorkload): string {
  const fewer = waiting.podSets.filter((set) => set.count < set.askedCount);
  if (fewer.length === 0) return "";
  const one = fewer.length === 1;
  const said = fewer.map((set) =>
    one
      ? `${set.count} of its ${counted(set.askedCount, "pod")}`
      : `${set.count} of ${counted(set.askedCount, "pod")} of ${set.name}`,
  );
  return ` (partial admission: ${said.join(", ")})`;
}

function doubted(said: string, names: readonly string[]): string {
  return `It is not known. Not modelled: ${names.join(", ")}. By what is modelled: ${said}`;
}

/** `1 pod`, `2 pods`. */
export function counted(count: number, what: string): string {
  return `${grouped(count)} ${what}${count === 1 ? "" : "s"}`;
}

/** How many queues there are, and how many Workloads wait in them. */
export function summaryOf(queues: Queues): string {
  const nodes = queues.trees.flat();
  const clusterQueues = nodes.filter((node) => node.kind === "ClusterQueue");
  const waiting = clusterQueues.reduce((sum, node) => sum + (node.waiting ?? 0), 0);
  const said = [counted(clusterQueues.length, "ClusterQueue"), counted(nodes.length - clusterQueues.length, "Cohort")];
  return [...said, `${counted(waiting, "Workload")} ${waiting === 1 ? "waits" : "wait"}`].join(" · ");
}

/** How many Workloads have quota, and how many wait. */
export function countWords(answer: QueueAnswer): string[] {
  const said: string[] = [];
  if (answer.reservingWorkloads !== undefined)
    said.push(`${counted(answer.reservingWorkloads, "Workload")} with quota`);
  if (answer.admittedWorkloads !== undefined) said.push(`${answer.admittedWorkloads} admitted`);
  const others = answer.othersWaiting ?? 0;
  said.push(`${answer.waiting.length + others} waiting`);
  if (others > 0) said.push(`${others} of them in namespaces that you may not see`);
  return said;
}
