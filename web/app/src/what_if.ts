/** What would happen: the nodes before and after, and what the command would be. */

import { joined, quoted } from "./command.ts";
import type { Step } from "./wire.ts";

/** A node, and which pods leave it or come to it. */
export interface NodeChange {
  readonly node: string;
  readonly leave: readonly string[];
  readonly come: readonly string[];
}

const RUNS = new Set(["Runs", "RunsAfterEvictions"]);
const LARGEST = 1024 * 1024;
const UNNAMED = "a pod of another namespace";

/** Whether all pods of the object get nodes. */
export function runs(step: Step): boolean {
  return RUNS.has(step.outcome);
}

/** The nodes that a plan changes, by name. Nothing changes for an object that waits. */
export function changesOf(step: Step): NodeChange[] {
  if (step.plan === null || step.running === 0) return [];
  const leave = new Map<string, string[]>();
  const come = new Map<string, string[]>();
  for (const victim of step.plan.victims ?? [])
    for (const pod of victim.pods)
      if (pod.node !== undefined && pod.node !== "") put(leave, pod.node, podName(pod.namespace, pod.name));
  for (const { pod, node } of step.plan.placements ?? []) put(come, node, pod);
  const names = [...new Set([...leave.keys(), ...come.keys()])].sort();
  return names.map((node) => ({ node, leave: leave.get(node) ?? [], come: come.get(node) ?? [] }));
}

function podName(namespace: string | undefined, name: string | undefined): string {
  return name === undefined || name === "" ? UNNAMED : `${namespace ?? ""}/${name}`;
}

function put(found: Map<string, string[]>, key: string, value: string): void {
  const known = found.get(key);
  if (known === undefined) found.set(key, [value]);
  else known.push(value);
}

/** The most pods that come to a node or leave it: the length of the longest bar. */
export function mostOf(changes: readonly NodeChange[]): number {
  return Math.max(1, ...changes.map((change) => Math.max(change.leave.length, change.come.length)));
}

/** How many of those that need room get nodes for all their pods. A gang and its Job are one. */
export function summaryOf(steps: readonly Step[]): string {
  if (steps.length === 0) return "Nothing is submitted that needs room.";
  const running = steps.filter(runs).length;
  if (running === steps.length) return "All pods get nodes.";
  const [only, ...others] = steps;
  if (only !== undefined && others.length === 0) return ALONE.get(only.outcome) ?? "What happens is not known.";
  return `All pods get nodes for ${running} of ${steps.length} answers below.`;
}

const ALONE: ReadonlyMap<string, string> = new Map([
  ["RunsInPart", "Some pods get no node."],
  ["Waits", "No pod gets a node."],
]);

/** How many pods of the object get nodes. */
export function countOf(step: Step): string {
  if (step.pods === 1) return step.running === 1 ? "its pod gets a node" : "its pod gets no node";
  return `${step.running} of ${step.pods} pods get nodes`;
}

/** Why the text cannot be sent; empty if it can. */
export function whyNotSent(text: string): string {
  if (text.trim() === "") return "Paste manifests first.";
  const size = new TextEncoder().encode(text).length;
  return size > LARGEST ? `These are ${size} bytes; more than ${LARGEST} are not looked at.` : "";
}

/** `reprieve what-if -` with the text as its input, for a shell. Objects without a namespace are in `default`, as here. */
export function whatIfCommand(text: string, options: string): string {
  const words = joined(["reprieve what-if -", "-n default", options]);
  const whole = text.endsWith("\n") ? text : `${text}\n`;
  const lines = new Set(whole.split("\n"));
  // A control character could be eaten by the terminal into which the text is pasted.
  if (hasControls(whole)) return `printf %s ${quoted(whole)} | ${words}`;
  let end = "MANIFESTS";
  while (lines.has(end)) end += "_";
  return `${words} <<'${end}'\n${whole}${end}`;
}

function hasControls(text: string): boolean {
  return /(?![\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(text);
}
