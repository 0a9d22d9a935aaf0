/** What the server answers about manifests: what `reprieve what-if -o json` prints. */

import type { Answer } from "./api.ts";

export interface Consequence {
  readonly unit: string;
  /** Whether it gets nodes again; null if that is not known. */
  readonly fits: boolean | null;
  readonly sentence: string;
  readonly wouldEvict: readonly string[];
}

export interface VictimPod {
  /** It is not there for a pod that one may not see. */
  readonly name?: string;
  readonly namespace?: string;
  readonly node?: string;
}

/** The parts of a plan that are shown. */
export interface NodePlan {
  readonly victims?: readonly { readonly kind: string; readonly pods: readonly VictimPod[] }[];
  readonly placements?: readonly { readonly pod: string; readonly node: string }[];
  readonly domains?: readonly { readonly value: string | null; readonly outcome: string; readonly reason: string }[];
}

export interface Step {
  readonly kind: string;
  /** NAMESPACE/NAME. */
  readonly name: string;
  readonly outcome: string;
  readonly sentence: string;
  readonly pods: number;
  readonly running: number;
  readonly notModelled: readonly string[];
  readonly quota: Answer | null;
  readonly evicted: readonly string[];
  readonly consequences: readonly Consequence[];
  readonly quotaConsequences: readonly Answer[];
  readonly plan: NodePlan | null;
}

/** Of `POST what-if`. */
export interface WhatIf {
  readonly steps: readonly Step[];
  readonly missing?: readonly string[];
}
