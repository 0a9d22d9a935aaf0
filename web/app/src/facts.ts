/** The numbers of an answer in the words of the command (`cli/why/render.py`). */

import { halves, queueAddress } from "./address.ts";
import type { Answer } from "./wire.ts";

export const WORDS = new Map([
  ["minCount", "minCount"],
  ["members", "members exist"],
  ["requiredMembers", "members must run"],
  ["boundMembers", "members have a node"],
  ["gatedPods", "pods have gates of others"],
  ["podsWithOurGate", "pods have our gate"],
  ["terminatingPods", "pods terminate"],
  ["endedPods", "pods have ended"],
  ["evictedBy", "who evicts"],
  ["evictorReason", "why that one"],
  ["handedOver", "handed over"],
  ["nextAttempt", "next attempt"],
  ["longestBackoffSeconds", "longest backoff, in seconds"],
  ["nominatedNode", "nominated node"],
  ["localQueue", "LocalQueue"],
  ["clusterQueue", "ClusterQueue"],
  ["position", "place in the ClusterQueue"],
  ["waitingInClusterQueue", "Workloads that wait there"],
  ["podsAtOnce", "pods at once"],
  ["podsWithoutNode", "pods without a node"],
  ["highestVictimPriority", "highest priority of a victim"],
  ["victimPrioritySum", "sum of the victims' priorities"],
  ["victimWorkloads", "Workloads that would be preempted"],
  ["victimPods", "pods that would be evicted"],
  ["lostPodSeconds", "pod-seconds of work that would be lost"],
]);
/** Numbers that are shown if they are 0, too. */
export const ALWAYS = new Set([
  "minCount",
  "members",
  "requiredMembers",
  "boundMembers",
  "priority",
  "highestVictimPriority",
  "victimPrioritySum",
]);

export interface Fact {
  readonly name: string;
  readonly value: string;
  /** Of the view that says more; none if there is no such view. */
  readonly address?: string;
}

/** The numbers that say something, in the order of the answer. */
export function factsOf(answer: Answer): Fact[] {
  return Object.entries(answer.numbers)
    .filter(([name, value]) => Boolean(value) || ALWAYS.has(name))
    .map(([name, value]) => ({ name: WORDS.get(name) ?? name, value: String(value), ...linkOf(answer, name) }));
}

/** Where a queue is shown. A LocalQueue is in the namespace of its Workload. */
function linkOf(answer: Answer, name: string): { address: string } | undefined {
  const queue = String(answer.numbers[name] ?? "");
  if (name === "clusterQueue") return { address: queueAddress("", queue) };
  if (name === "localQueue") return { address: queueAddress(halves(answer.name, "/")[0], queue) };
  return undefined;
}
