/** What the server answers, as `web/` describes it in `api/v1/openapi.json`. */

export type Kind = "podgroup" | "pod" | "job" | "workload";

/** In which mode reprieve is, and what stops or limits its evictions. */
export interface Mode {
  readonly mode: "Observe" | "Enforce" | "Off" | "";
  readonly sentence: string;
  readonly enforcedNamespaceSelector?: unknown;
  readonly pauses: readonly string[];
  readonly limits: readonly string[];
}

export interface Namespaces {
  readonly all: boolean;
  readonly named: readonly string[];
  readonly asked: readonly string[];
}

/** Of `GET session`. */
export interface About {
  readonly user: string;
  readonly groups: readonly string[];
  readonly expires: string;
  /** The context or the files. */
  readonly cluster: string;
  readonly live: boolean;
  /** Why what is shown may be old; empty if it is not. */
  readonly trouble: string;
  readonly mode: Mode;
  readonly namespaces: Namespaces;
  readonly missing: readonly string[];
  /** The options of `reprieve why` that read the same cluster, and decide as this page. */
  readonly command: string;
  /** Those of them that say what is read, and when. */
  readonly reads: string;
}

/** Something that waits. */
export interface Row {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly place: number | null;
  readonly state: string;
  readonly sentence: string;
  readonly since: string;
  readonly priority: number | null;
  readonly minCount: number | null;
  readonly members: number | null;
  readonly bound: number | null;
  readonly plan: string;
  readonly queue: string;
}

/** Of `GET waiting`. */
export interface Waiting {
  readonly version: string;
  /** The time that all ages are counted to. */
  readonly moment: string;
  readonly trouble: string;
  readonly groups: readonly Row[];
  readonly pods: readonly Row[];
  readonly workloads: readonly Row[];
  readonly missing: readonly string[];
}

export interface Place {
  readonly name: string;
  readonly outcome: string;
  readonly reason: string;
}

export interface PodSet {
  readonly name: string;
  readonly count: number;
  readonly askedCount: number;
}

export interface Term {
  readonly name: string;
  readonly value: number;
}

/** The cost of a domain. Domains are compared field by field, in this order. */
export interface Score {
  readonly podDisruptionBudgetViolations: number;
  readonly highestVictimPriority: number | null;
  readonly prioritySum: number;
  readonly units: number;
  readonly pods: number;
  readonly earliestStart: string | null;
  readonly terms: readonly Term[];
}

export interface DomainResult {
  readonly value: string | null;
  readonly outcome: string;
  readonly reason: string;
  readonly score: Score | null;
}

export interface OtherDomains {
  readonly outcome: string;
  readonly reason: string;
  readonly count: number;
}

/** A worker cluster when a turn was given. */
export interface WorkerCluster {
  readonly name: string;
  readonly said: string;
  readonly turns: number;
  readonly openGates: number;
  readonly cost: {
    readonly highestVictimPriority: number;
    readonly prioritySum: number;
    readonly workloads: number;
    readonly pods: number;
    readonly podSeconds: number;
  } | null;
}

export interface Turn {
  readonly plan: string;
  readonly spec: {
    readonly number: number;
    readonly cluster: string;
    readonly reason: string;
    readonly began: string;
    readonly until: string;
    readonly clusters?: readonly WorkerCluster[];
  };
  readonly status: { readonly phase: string; readonly reason: string; readonly ended?: string } | null;
}

/** The spec of a PreemptionPlan, or the turns of the clusters that a Workload was offered to. */
export interface Decision {
  readonly outcome?: string;
  readonly reason?: string;
  readonly domain?: { readonly topologyKey: string | null; readonly value: string | null } | null;
  readonly domains?: readonly DomainResult[];
  readonly otherDomains?: readonly OtherDomains[];
  readonly turns?: readonly Turn[];
}

/** Of `GET why/KIND/NS/NAME`: what `reprieve why -o json` prints. */
export interface Answer {
  readonly kind: "Pod" | "PodGroup" | "Job" | "Workload";
  /** NAMESPACE/NAME. */
  readonly name: string;
  readonly waits: boolean;
  readonly state: string;
  readonly sentence: string;
  readonly source: "Status" | "Plan" | "Engine";
  readonly since: string;
  readonly numbers: Readonly<Record<string, number | string>>;
  readonly missing: readonly string[];
  readonly places: readonly Place[];
  readonly waitsFor: readonly string[];
  readonly wouldHelp: readonly string[];
  readonly stays: readonly string[];
  readonly notes: readonly string[];
  readonly triedAgain: string;
  readonly podSets: readonly PodSet[];
  readonly notModelled: readonly string[];
  readonly plan: string;
  readonly decision: Decision | null;
  readonly depends: readonly Answer[];
}

/** Of every answer that is an error. */
export interface Problem {
  readonly reason: string;
  readonly message: string;
  /** The right that is missing; empty if none is. */
  readonly right: string;
}

/** A stored plan in one row. */
export interface PlanRow {
  readonly kind: "PreemptionPlan" | "DispatchPlan";
  readonly namespace: string;
  readonly name: string;
  readonly plane: "Nodes" | "Quota" | "Clusters";
  readonly preemptor: {
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
    readonly priority: number;
  };
  readonly outcome: string;
  /** By a plan that is Observed or Proposed nobody is evicted. */
  readonly standing: "GoesOn" | "Over" | "Observed" | "Proposed";
  readonly phase: string;
  readonly sentence: string;
  readonly evictedBy: string;
  readonly victimUnits: number | null;
  readonly victimPods: number | null;
  readonly cluster: string;
  readonly decided: string;
  readonly since: string;
  readonly end: string;
  readonly inVain: boolean | null;
}

/** What each answer about many objects begins with. */
export interface Head {
  readonly version: string;
  /** The time that all ages are counted to. */
  readonly moment: string;
  readonly trouble: string;
  readonly missing: readonly string[];
}

/** Of `GET plans`. */
export interface Plans extends Head {
  readonly plans: readonly PlanRow[];
  readonly oldestPlan: string | null;
}

export interface PhaseOfPlan {
  readonly name: string;
  readonly time: string;
  readonly reason: string;
  readonly message: string;
  readonly isLast: boolean;
}

export interface PlanVictim {
  readonly kind: string;
  /** Empty, as the name is, if one may not know it. */
  readonly namespace: string;
  readonly name: string;
  readonly priority: number | null;
  readonly pods: number;
  readonly nodes: readonly string[];
  readonly violatesPodDisruptionBudget: boolean;
  readonly rule: string | null;
  readonly clusterQueue: string | null;
}

export interface StayingUnit {
  readonly kind: string;
  readonly name: string;
  readonly priority: number;
  readonly pods: number;
  readonly why: string;
}

export interface PlannedNode {
  readonly name: string;
  readonly leaving: readonly string[];
  readonly coming: readonly string[];
  /** Null if it is not known (any longer). */
  readonly staying: readonly string[] | null;
  readonly othersStay: boolean;
}

/** Of `GET plans/NS/NAME`. */
export interface PlanAnswer extends Head {
  readonly plan: PlanRow;
  readonly phases: readonly PhaseOfPlan[];
  readonly confirmed: string;
  readonly evictor: string;
  readonly decision: Decision | null;
  readonly victims: readonly PlanVictim[];
  readonly staying: { readonly units: readonly StayingUnit[]; readonly others: boolean } | null;
  readonly nodes: readonly PlannedNode[];
  readonly instead: { readonly sentences: readonly string[]; readonly numbers: unknown } | null;
  readonly turns: readonly Turn[];
  readonly notes: readonly string[];
}

/** What one plan began to evict in one namespace by one rule. */
export interface Eviction {
  readonly time: string;
  /** NAMESPACE/NAME. */
  readonly plan: string;
  readonly preemptor: { readonly kind: string; readonly name: string };
  /** Of the victims; empty if one may not know it. */
  readonly namespace: string;
  readonly rule: string;
  readonly units: number;
  readonly pods: number;
  readonly phase: string;
  readonly inVain: boolean | null;
}

/** Of `GET evictions`. */
export interface Evictions extends Head {
  readonly evictions: readonly Eviction[];
  readonly oldestPlan: string | null;
}

interface Unit {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly priority: number;
}

/** Of `GET who-evicted/NS/NAME`: what `reprieve who-evicted -o json` prints. */
export interface EvictedBy {
  readonly name: string;
  readonly evictions: readonly {
    readonly plan: string;
    readonly phase: string;
    readonly evictingSince: string | null;
    readonly preemptor: Unit;
    readonly preemptorRan: boolean;
    readonly victim: Unit;
    readonly rule: string;
    readonly reason: string;
    readonly planEnd: string | null;
    readonly evictedBy: string | null;
  }[];
  readonly byScheduler: readonly {
    readonly preemptor: { readonly kind: string; readonly name: string | null; readonly uid: string | null };
    readonly time: string | null;
    readonly message: string;
    readonly plan: string | null;
    readonly observed: { readonly plan: string; readonly preemptor: string; readonly namesIt: boolean } | null;
  }[];
  readonly oldestPlan: string | null;
  readonly missing?: readonly string[];
}

/** Of `GET map`. Nodes, blocks and gangs are named by their place in the columns of those; gang -1: pods without one. */
export interface NodeMap {
  readonly version: string;
  readonly moment: string;
  readonly trouble: string;
  readonly topologyKey: string;
  readonly topologyKeys: readonly { readonly key: string; readonly podGroups: number }[];
  readonly resource: string;
  readonly resources: readonly string[];
  readonly blocks: readonly (string | null)[];
  readonly nodes: {
    readonly name: readonly string[];
    readonly block: readonly number[];
    readonly allocatable: readonly number[];
    readonly used: readonly number[];
    readonly leaving: readonly number[];
    readonly promised: readonly number[];
    readonly free: readonly number[];
    readonly anonymous: readonly number[];
  };
  readonly gangs: { readonly namespace: readonly string[]; readonly name: readonly string[] };
  readonly parts: {
    readonly node: readonly number[];
    readonly gang: readonly number[];
    readonly pods: readonly number[];
    readonly used: readonly number[];
    readonly leaving: readonly number[];
  };
  readonly plans: readonly MapPlan[];
  readonly missing: readonly string[];
  readonly unread: string;
}

/** A plan that is carried out. */
export interface MapPlan {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly priority: number;
  readonly gang: number;
  readonly promised: {
    readonly node: readonly number[];
    readonly pods: readonly number[];
    readonly amount: readonly number[];
  };
  readonly victims: {
    readonly node: readonly number[];
    readonly gang: readonly number[];
    readonly pods: readonly number[];
    readonly amount: readonly number[];
  };
}

export interface NodePod {
  readonly namespace: string;
  readonly name: string;
  readonly gang: string;
  readonly priority: number;
  readonly requests: Readonly<Record<string, number>>;
  readonly leaving: boolean;
  readonly victimOf: string;
}

export interface PromisedPod {
  readonly namespace: string;
  readonly name: string;
  readonly gang: string;
  readonly priority: number;
  readonly requests: Readonly<Record<string, number>>;
  readonly plan: string;
}

/** Of `GET nodes/NAME`. */
export interface NodeRoom {
  readonly version: string;
  readonly moment: string;
  readonly trouble: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly unschedulable: boolean;
  readonly taints: readonly string[];
  readonly resources: readonly {
    readonly name: string;
    readonly allocatable: number;
    readonly used: number;
    readonly leaving: number;
    readonly promised: number;
    readonly free: number;
    readonly anonymous: number;
  }[];
  readonly pods: readonly NodePod[];
  readonly promised: readonly PromisedPod[];
  readonly missing: readonly string[];
}
