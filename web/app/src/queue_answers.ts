/** What the server answers about queues: what `reprieve queue -o json` prints. What one may not know has no field. */

/** One flavor and resource of a ClusterQueue or Cohort. Amounts are quantities. */
export interface Account {
  readonly flavor: string;
  readonly resource: string;
  readonly nominal: string;
  readonly borrowingLimit: string | null;
  readonly lendingLimit: string | null;
  readonly quota: string;
  readonly used: string;
  readonly borrowed: string;
  readonly lentAtLeast: string;
  readonly lentAtMost: string;
  readonly free: string;
}

export interface QueueNode {
  readonly kind: "Cohort" | "ClusterQueue";
  readonly name: string;
  /** How many Cohorts are above it. */
  readonly depth: number;
  readonly inactive: string | null;
  readonly waiting: number | null;
  readonly quota: readonly Account[];
}

export interface QueueVictim {
  readonly clusterQueue: string;
  readonly reason: string;
  /** NAMESPACE/NAME. It and what follows is not there for a Workload that one may not see. */
  readonly workload?: string;
  readonly priority?: number;
  readonly holds?: string;
  readonly evicting?: boolean;
}

/** What a ClusterQueue could get by preemption for one Workload. */
export interface Reclaim {
  readonly clusterQueue: string;
  readonly flavor: string;
  readonly resource: string;
  readonly amount: string;
  readonly free: string;
  readonly withinNominal: boolean;
  readonly abovePriority?: number | null;
  readonly rules: readonly string[];
  readonly victims: readonly QueueVictim[];
}

/** Of `GET queues`. */
export interface Queues {
  /** By tree: a node comes after the one above it. */
  readonly trees: readonly (readonly QueueNode[])[];
  readonly reclaims: readonly Reclaim[];
  readonly missing?: readonly string[];
}

export interface LocalQueue {
  readonly name: string;
  readonly stopPolicy: string;
  readonly reservingWorkloads: number;
  readonly admittedWorkloads: number;
  readonly used: readonly { readonly flavor: string; readonly resource: string; readonly quantity: string }[];
}

export interface WaitingWorkload {
  /** NAMESPACE/NAME. */
  readonly workload: string;
  readonly localQueue: string;
  readonly priority: number;
  readonly created: string | null;
  readonly outcome: string;
  readonly notModelled: readonly string[];
  readonly message: string;
  /** An empty one is of a namespace that one may not see. */
  readonly victims: readonly string[];
  readonly podSets: readonly { readonly name: string; readonly count: number; readonly askedCount: number }[];
}

/** Of `GET queues/NAME` and `GET queues/NAMESPACE/NAME`. */
export interface QueueAnswer {
  readonly clusterQueue: string;
  readonly localQueue: LocalQueue | null;
  readonly waiting: readonly WaitingWorkload[];
  readonly path?: string;
  readonly cohort?: string | null;
  readonly inactive?: string | null;
  readonly reservingWorkloads?: number;
  readonly admittedWorkloads?: number;
  readonly quota?: readonly Account[];
  readonly couldTake?: readonly Reclaim[];
  readonly couldLose?: readonly Reclaim[];
  readonly othersWaiting?: number;
  readonly missing?: readonly string[];
}
