// Generated: python -m hack.page_types web/app/src/wire.ts
/** What the server answers, and what it is asked with: the schemas of `api/v1/openapi.json`. */

/** Somebody is logged in. */
export interface NewSession {
  readonly session: string;
  readonly user: string;
  readonly expires: string;
}

/** How somebody logs in: with one of both. */
export interface LogIn {
  readonly code?: string;
  readonly token?: string;
}

/** Who is logged in, and what they see. */
export interface SessionAnswer {
  readonly user: string;
  readonly groups: readonly string[];
  readonly expires: string;
  readonly cluster: string;
  readonly live: boolean;
  readonly trouble: string;
  readonly mode: Mode;
  readonly namespaces: Namespaces;
  readonly missing: readonly string[];
  readonly command: string;
  readonly reads: string;
}

/** What reprieve does in the cluster. */
export interface Mode {
  readonly mode: "" | "Enforce" | "Observe" | "Off";
  readonly sentence: string;
  readonly enforcedNamespaceSelector: unknown;
  readonly pauses: readonly string[];
  readonly limits: readonly string[];
}

/** The namespaces where the reader sees anything. */
export interface Namespaces {
  readonly all: boolean;
  readonly named: readonly string[];
  readonly asked: readonly string[];
}

/** The nodes, and who holds their room. */
export interface Map {
  readonly version: string;
  readonly moment: string;
  readonly trouble: string;
  readonly topologyKey: string;
  readonly topologyKeys: readonly TopologyKey[];
  readonly resource: string;
  readonly resources: readonly string[];
  readonly blocks: readonly (string | null)[];
  readonly nodes: NodeColumns;
  readonly gangs: GangColumns;
  readonly parts: PartColumns;
  readonly plans: readonly MapPlan[];
  readonly missing: readonly string[];
  readonly unread: string;
}

/** A label by which nodes may stand in blocks. */
export interface TopologyKey {
  readonly key: string;
  readonly podGroups: number;
}

/** The nodes, block by block, and in each block by name. */
export interface NodeColumns {
  readonly name: readonly string[];
  readonly block: readonly number[];
  readonly allocatable: readonly number[];
  readonly used: readonly number[];
  readonly leaving: readonly number[];
  readonly promised: readonly number[];
  readonly free: readonly number[];
  readonly anonymous: readonly number[];
}

/** The gangs that have pods on nodes, or plans. */
export interface GangColumns {
  readonly namespace: readonly string[];
  readonly name: readonly string[];
  readonly key: readonly string[];
}

/** What each gang has on each node. */
export interface PartColumns {
  readonly node: readonly number[];
  readonly gang: readonly number[];
  readonly pods: readonly number[];
  readonly used: readonly number[];
  readonly leaving: readonly number[];
}

/** A plan that is carried out. */
export interface MapPlan {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly priority: number;
  readonly gang: number;
  readonly promised: PromisedColumns;
  readonly victims: VictimColumns;
}

/** What a plan promises on each node, by the gang of the pods. */
export interface PromisedColumns {
  readonly node: readonly number[];
  readonly gang: readonly number[];
  readonly pods: readonly number[];
  readonly amount: readonly number[];
}

/** The victims of a plan that are still there, by node and gang. */
export interface VictimColumns {
  readonly node: readonly number[];
  readonly gang: readonly number[];
  readonly pods: readonly number[];
  readonly amount: readonly number[];
}

/** A node. */
export interface NodeRoom {
  readonly version: string;
  readonly moment: string;
  readonly trouble: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly unschedulable: boolean;
  readonly taints: readonly string[];
  readonly resources: readonly NodeAmounts[];
  readonly pods: readonly NodePod[];
  readonly promised: readonly PromisedPod[];
  readonly missing: readonly string[];
}

/** The room of a node, of one resource. See `NodeColumns`. */
export interface NodeAmounts {
  readonly name: string;
  readonly allocatable: number;
  readonly used: number;
  readonly leaving: number;
  readonly promised: number;
  readonly free: number;
  readonly anonymous: number;
}

/** A pod on the node. */
export interface NodePod {
  readonly namespace: string;
  readonly name: string;
  readonly gang: string;
  readonly priority: number;
  readonly requests: Readonly<Record<string, number>>;
  readonly leaving: boolean;
  readonly victimOf: string;
}

/** A pod that will get room on the node. */
export interface PromisedPod {
  readonly namespace: string;
  readonly name: string;
  readonly gang: string;
  readonly priority: number;
  readonly requests: Readonly<Record<string, number>>;
  readonly plan: string;
}

/** All that waits, and the reader may list. */
export interface Waiting {
  readonly version: string;
  readonly moment: string;
  readonly trouble: string;
  readonly groups: readonly Row[];
  readonly pods: readonly Row[];
  readonly workloads: readonly Row[];
  readonly missing: readonly string[];
}

/** Something that waits. */
export interface Row {
  readonly kind: "pod" | "podgroup" | "workload";
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

/** Why an object waits: what `reprieve why -o json` prints. */
export interface Answer {
  readonly kind: "Job" | "Pod" | "PodGroup" | "Workload";
  readonly name: string;
  readonly waits: boolean;
  readonly state: string;
  readonly sentence: string;
  readonly source: "Engine" | "Plan" | "Status";
  readonly since: string;
  readonly numbers: Readonly<Record<string, number | string>>;
  readonly missing: readonly string[];
  readonly places: readonly Place[];
  readonly waitsFor: readonly string[];
  readonly wouldHelp: readonly string[];
  readonly stays: readonly string[];
  readonly notes: readonly string[];
  readonly triedAgain: string;
  readonly podSets: readonly PodCount[];
  readonly notModelled: readonly string[];
  readonly plan: string;
  readonly decision: Decision | null;
  readonly depends: readonly Answer[];
}

/** A domain or a flavor, and why it does not take what waits. */
export interface Place {
  readonly name: string;
  readonly outcome: string;
  readonly reason: string;
}

/** How many pods of a pod set get quota. */
export interface PodCount {
  readonly name: string;
  readonly count: number;
  readonly askedCount: number;
}

/** Fields of the spec of a PreemptionPlan, or the turns of the clusters that a Workload is offered to. */
export interface Decision {
  readonly preemptor?: Preemptor;
  readonly outcome?: "Fits" | "Preempts" | "Proposes" | "Releases" | "SearchBudgetExhausted" | "Unschedulable" | "Withdraws" | "Unknown";
  readonly reason?: string;
  readonly mismatch?: "EvictedInVain" | "PriorityMismatch" | "SchedulerMismatch";
  readonly mode?: "Observe";
  readonly evictedBy?: "Reprieve" | "Scheduler";
  readonly evictorReason?: "BudgetsRespected" | "DriveMode" | "NoDearer" | "NotFeasible" | "NotProven" | "OtherVictims" | "PodStays" | "PromisedRoom" | "SameVictims" | "TopologyConstraint" | "UnknownUnit";
  readonly domain?: Domain | null;
  readonly priorityCutoff?: number | null;
  readonly search?: SearchReport;
  readonly placements?: readonly Placement[];
  readonly victims?: readonly DecidedVictim[];
  readonly cost?: PlanCost;
  readonly podDisruptionBudgetViolations?: number;
  readonly podDisruptionBudgetPolicy?: "Ignore" | "Prefer" | "Respect";
  readonly stoppedByPodDisruptionBudgets?: readonly StoppingBudget[];
  readonly domains?: readonly DomainResult[];
  readonly otherDomains?: readonly OtherDomains[];
  readonly notModelled?: readonly string[];
  readonly excluded?: readonly Excluded[];
  readonly otherExcluded?: number;
  readonly victimUnits?: number;
  readonly victimPods?: number;
  readonly turns?: readonly Turn[];
}

/** The group, pod or Workload that asks for room. */
export interface Preemptor {
  readonly kind: "Pod" | "PodGroup" | "Workload";
  readonly apiVersion: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly priority: number;
  readonly quota?: PreemptorQuota;
}

/** The quota that a Workload asks for. */
export interface PreemptorQuota {
  readonly clusterQueue: string;
  readonly path: string;
  readonly generation: number;
  readonly borrowing: number;
  readonly amounts: readonly QuotaAmount[];
}

/** One resource in one flavor. */
export interface QuotaAmount {
  readonly flavor: string;
  readonly resource: string;
  readonly asked: string;
  readonly available: string;
  readonly borrowed: string;
}

/** The part of the cluster where the preemptor is placed. */
export interface Domain {
  readonly topologyKey: string | null;
  readonly value: string | null;
}

/** How far the search for the victims went. */
export interface SearchReport {
  readonly workMicroseconds: number;
  readonly ended: boolean;
  readonly lowestCutoff: boolean;
}

/** A pod in the preemptor's namespace, and the node that the plan gives it. */
export interface Placement {
  readonly pod: string;
  readonly node: string;
  readonly uid: string;
  readonly beyondMinCount: boolean;
  readonly anyNode: boolean;
  readonly wave?: number;
}

/** A unit to evict. Without a UID it is of a namespace that the reader may not see. */
export interface DecidedVictim {
  readonly kind: "Pod" | "PodGroup" | "Workload";
  readonly namespace: string;
  readonly name: string;
  readonly pods: readonly DecidedPod[];
  readonly uid?: string;
  readonly priority?: number;
  readonly violatesPodDisruptionBudget?: boolean;
  readonly quota?: VictimQuota;
}

/** A pod to evict. It has no fields if the reader may not know it. */
export interface DecidedPod {
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly node?: string;
}

/** The quota that a Workload gives back, and why it has to. */
export interface VictimQuota {
  readonly reason: "InClusterQueue" | "InClusterQueueTimeBased" | "InCohortFairSharing" | "InCohortReclaimWhileBorrowing" | "InCohortReclamation";
  readonly clusterQueue: string;
  readonly path: string;
  readonly since: string;
}

/** What a preemption for a Workload would cost. Costs are compared field by field. */
export interface PlanCost {
  readonly highestVictimPriority: number;
  readonly prioritySum: number;
  readonly workloads: number;
  readonly pods: number;
  readonly podSeconds: number;
}

/** A PodDisruptionBudget that is respected, and that the preemptor would need to be exceeded. */
export interface StoppingBudget {
  readonly namespace: string;
  readonly name: string;
  readonly allowed: number;
}

/** The result for one domain. */
export interface DomainResult {
  readonly value: string | null;
  readonly outcome: "Fits" | "Preempts" | "Proposes" | "Releases" | "SearchBudgetExhausted" | "Unschedulable" | "Withdraws";
  readonly reason: string;
  readonly score: Score | null;
}

/** The cost of a domain. Domains are compared field by field, in this order. */
export interface Score {
  readonly podDisruptionBudgetViolations: number;
  readonly highestVictimPriority: number | null;
  readonly prioritySum: number;
  readonly units: number;
  readonly pods: number;
  readonly earliestStart: string | null;
  readonly terms: readonly TermValue[];
}

/** An optional term of a score, which the configuration asks for. */
export interface TermValue {
  readonly name: "Cascade" | "DisruptionCost" | "Fragmentation";
  readonly value: number;
}

/** Domains that lost and are not listed one by one. */
export interface OtherDomains {
  readonly outcome: "Fits" | "Preempts" | "Proposes" | "Releases" | "SearchBudgetExhausted" | "Unschedulable" | "Withdraws";
  readonly reason: string;
  readonly count: number;
}

/** A node that was left out for a pod of the preemptor and for pods like it: a scheduler did not take one there. */
export interface Excluded {
  readonly pod: string;
  readonly node: string;
  readonly seen: string;
}

/** The turn of a worker cluster: a DispatchPlan. */
export interface Turn {
  readonly plan: string;
  readonly spec: DispatchPlanSpec;
  readonly status: DispatchPlanStatus | null;
}

/** The turn. It never changes. */
export interface DispatchPlanSpec {
  readonly workload: DispatchedWorkload;
  readonly number: number;
  readonly cluster: string;
  readonly order: "FirstComeFirstServed" | "LeastDisruption";
  readonly reason: string;
  readonly began: string;
  readonly until: string;
  readonly clusters: readonly WorkerCluster[];
}

/** The Workload that waits in several clusters. */
export interface DispatchedWorkload {
  readonly name: string;
  readonly uid: string;
  readonly attempt: string;
  readonly priority: number;
}

/** One of the clusters that were asked. */
export interface WorkerCluster {
  readonly name: string;
  readonly said: string;
  readonly turns: number;
  readonly openGates: number;
  readonly cost: PlanCost | null;
}

/** What became of the turn. */
export interface DispatchPlanStatus {
  readonly phase: "Admitted" | "Ended" | "Open" | "TimedOut";
  readonly reason: string;
  readonly ended?: string;
}

/** All stored plans that the reader may list. */
export interface Plans {
  readonly version: string;
  readonly moment: string;
  readonly trouble: string;
  readonly plans: readonly PlanRow[];
  readonly oldestPlan: string | null;
  readonly missing: readonly string[];
}

/** A stored plan in one row. */
export interface PlanRow {
  readonly kind: "DispatchPlan" | "PreemptionPlan";
  readonly namespace: string;
  readonly name: string;
  readonly plane: "Clusters" | "Nodes" | "Quota";
  readonly preemptor: PlanPreemptor;
  readonly outcome: string;
  readonly standing: "GoesOn" | "Observed" | "Over" | "Proposed";
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

/** The preemptor of a plan. */
export interface PlanPreemptor {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly priority: number;
}

/** All that is known of one stored plan. */
export interface PlanAnswer {
  readonly version: string;
  readonly moment: string;
  readonly trouble: string;
  readonly plan: PlanRow;
  readonly phases: readonly PhaseOfPlan[];
  readonly confirmed: string;
  readonly evictor: string;
  readonly decision: Decision | null;
  readonly victims: readonly PlanVictim[];
  readonly staying: Stay | null;
  readonly nodes: readonly PlannedNode[];
  readonly instead: Instead | null;
  readonly turns: readonly Turn[];
  readonly notes: readonly string[];
  readonly missing: readonly string[];
}

/** A phase that a plan has come to. */
export interface PhaseOfPlan {
  readonly name: string;
  readonly time: string;
  readonly reason: string;
  readonly message: string;
  readonly isLast: boolean;
}

/** A unit that a plan names as a victim. */
export interface PlanVictim {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly priority: number | null;
  readonly pods: number;
  readonly nodes: readonly string[];
  readonly violatesPodDisruptionBudget: boolean;
  readonly rule: string | null;
  readonly clusterQueue: string | null;
}

/** Who stays in the domain of a plan. */
export interface Stay {
  readonly units: readonly StayingUnit[];
  readonly others: boolean;
}

/** A unit that stays. */
export interface StayingUnit {
  readonly kind: string;
  readonly name: string;
  readonly priority: number;
  readonly pods: number;
  readonly why: string;
}

/** A node that a plan names: pods as NAMESPACE/NAME. */
export interface PlannedNode {
  readonly name: string;
  readonly leaving: readonly string[];
  readonly coming: readonly string[];
  readonly staying: readonly string[] | null;
  readonly othersStay: boolean;
}

/** What a scheduler did instead of an observed plan. */
export interface Instead {
  readonly sentences: readonly string[];
  readonly numbers: Readonly<Record<string, unknown>>;
}

/** All queues, as the trees of their Cohorts. */
export interface Queues {
  readonly trees: readonly (readonly QueueNode[])[];
  readonly reclaims: readonly Reclaim[];
  readonly trouble?: string;
  readonly missing?: readonly string[];
}

/** A ClusterQueue or a Cohort in its tree. */
export interface QueueNode {
  readonly kind: "ClusterQueue" | "Cohort";
  readonly name: string;
  readonly depth: number;
  readonly inactive: string | null;
  readonly waiting: number | null;
  readonly quota: readonly Account[];
}

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

/** What a ClusterQueue could get by preemption for one Workload. */
export interface Reclaim {
  readonly clusterQueue: string;
  readonly flavor: string;
  readonly resource: string;
  readonly amount: string;
  readonly free: string;
  readonly withinNominal: boolean;
  readonly rules: readonly string[];
  readonly victims: readonly QueueVictim[];
  readonly abovePriority?: number | null;
}

/** A Workload that would lose its quota. Without a name it is of a namespace that the reader may not see. */
export interface QueueVictim {
  readonly clusterQueue: string;
  readonly reason: string;
  readonly workload?: string;
  readonly priority?: number;
  readonly holds?: string;
  readonly evicting?: boolean;
}

/** One ClusterQueue. */
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

/** The LocalQueue that was asked for. */
export interface LocalQueue {
  readonly name: string;
  readonly stopPolicy: string;
  readonly reservingWorkloads: number;
  readonly admittedWorkloads: number;
  readonly used: readonly HeldByQueue[];
}

/** What Workloads of a LocalQueue hold. */
export interface HeldByQueue {
  readonly flavor: string;
  readonly resource: string;
  readonly quantity: string;
}

/** A Workload that waits, and what becomes of it if it is tried next, alone. */
export interface WaitingWorkload {
  readonly workload: string;
  readonly localQueue: string;
  readonly priority: number;
  readonly created: string | null;
  readonly outcome: string;
  readonly notModelled: readonly string[];
  readonly message: string;
  readonly victims: readonly string[];
  readonly podSets: readonly PodCount[];
}

/** What would happen, one object after the other. */
export interface WhatIf {
  readonly steps: readonly Step[];
  readonly missing?: readonly string[];
}

/** What becomes of an object that is submitted. */
export interface Step {
  readonly kind: string;
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
  readonly plan: Decision | null;
}

/** What becomes of a unit that is evicted. */
export interface Consequence {
  readonly unit: string;
  readonly fits: boolean | null;
  readonly sentence: string;
  readonly wouldEvict: readonly string[];
}

/** A PreemptionPlan that nobody has stored. */
export interface PlanFor {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: PlanMetadata;
  readonly spec: Decision;
  readonly status?: Readonly<Record<string, unknown>>;
  readonly missing?: readonly string[];
}

/** The name of a plan. */
export interface PlanMetadata {
  readonly name: string;
  readonly namespace: string;
}

/** The evictions of all stored plans that the reader may list. */
export interface Evictions {
  readonly version: string;
  readonly moment: string;
  readonly trouble: string;
  readonly evictions: readonly Eviction[];
  readonly oldestPlan: string | null;
  readonly missing: readonly string[];
}

/** What one plan began to evict in one namespace by one rule. */
export interface Eviction {
  readonly time: string;
  readonly plan: string;
  readonly preemptor: EvictionPreemptor;
  readonly namespace: string;
  readonly rule: string;
  readonly units: number;
  readonly pods: number;
  readonly phase: string;
  readonly inVain: boolean | null;
}

/** The preemptor of an eviction. */
export interface EvictionPreemptor {
  readonly kind: string;
  readonly name: string;
}

/** Who evicted an object: what `reprieve who-evicted -o json` prints. */
export interface EvictedBy {
  readonly name: string;
  readonly evictions: readonly EvictedByPlan[];
  readonly byScheduler: readonly EvictedByScheduler[];
  readonly oldestPlan: string | null;
  readonly missing?: readonly string[];
}

/** A plan that names the object as a victim. */
export interface EvictedByPlan {
  readonly plan: string;
  readonly phase: string;
  readonly evictingSince: string | null;
  readonly preemptor: EvictionUnit;
  readonly preemptorRan: boolean;
  readonly victim: EvictionUnit;
  readonly rule: string;
  readonly reason: string;
  readonly planEnd: string | null;
  readonly evictedBy: "Reprieve" | "Scheduler" | null;
}

/** A preemptor, or a victim of it. */
export interface EvictionUnit {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly priority: number;
}

/** What kube-scheduler says of a pod that it evicted. */
export interface EvictedByScheduler {
  readonly uid: string;
  readonly preemptor: SchedulersPreemptor;
  readonly time: string | null;
  readonly message: string;
  readonly plan: string | null;
  readonly observed: ObservedPlan | null;
}

/** The preemptor for which kube-scheduler evicted the pod, as far as its event says so. */
export interface SchedulersPreemptor {
  readonly kind: "Pod" | "PodGroup";
  readonly name: string | null;
  readonly uid: string | null;
}

/** An observed plan of that preemptor. */
export interface ObservedPlan {
  readonly plan: string;
  readonly preemptor: string;
  readonly namesIt: boolean;
  readonly instead: Readonly<Record<string, unknown>> | null;
}

/** What the scheduler did instead: what `reprieve report -o json` prints. */
export interface Report {
  readonly answer: string;
  readonly notKnown: readonly string[];
  readonly alsoKnown: readonly string[];
  readonly by: "day" | "gang" | "namespace" | "priority";
  readonly asOf: string;
  readonly namespace: string | null;
  readonly observedSeconds: number;
  readonly states: States;
  readonly open: number;
  readonly reports: ReportedDays;
  readonly total: ReportRow;
  readonly rows: readonly ReportRow[];
  readonly days: readonly ReportRow[];
  readonly namespaces: readonly ReportRow[];
  readonly waits: readonly WaitClass[];
  readonly dearest: readonly DearDecision[];
  readonly costs: Costs;
}

/** Decisions by whether they are compared. */
export interface States {
  readonly Same: number;
  readonly Changed: number;
  readonly Unknown: number;
}

/** What PreemptionReports say. */
export interface ReportedDays {
  readonly days: readonly string[];
  readonly decisions: number;
  readonly gaps: readonly UnseenTime[];
  readonly enforced: EnforcedPlans;
  readonly quota: QuotaDecisions;
}

/** Time in which not all was observed. */
export interface UnseenTime {
  readonly cause: string;
  readonly seconds: number;
}

/** Plans that were carried out where the mode was Enforce. */
export interface EnforcedPlans {
  readonly plans: number;
  readonly pods: number;
  readonly bound: number;
  readonly inVain: number;
}

/** Decisions of Kueue beside those of reprieve. */
export interface QuotaDecisions {
  readonly agrees: number;
  readonly differs: number;
  readonly unknown: number;
}

/** Decisions with something in common. */
export interface ReportRow {
  readonly name: string;
  readonly decisions: number;
  readonly compared: number;
  readonly ours: Ours;
  readonly scheduler: Schedulers;
  readonly unattributed: number;
  readonly costs: Amounts;
}

/** What reprieve would have done. */
export interface Ours {
  readonly pods: number;
}

/** What the scheduler did. */
export interface Schedulers {
  readonly pods: number;
  readonly servedNobody: number;
  readonly groupsBroken: number;
  readonly inPieces: number;
  readonly inPiecesSeconds: number;
  readonly bound: number;
  readonly medianSecondsUntilBound: number | null;
}

/** What decisions cost, as it is stored: whole seconds by resource. */
export interface Amounts {
  readonly servedNobody: Readonly<Record<string, number>>;
  readonly idleRemainders: Readonly<Record<string, number>>;
  readonly heldInPieces: Readonly<Record<string, number>>;
  readonly victims: Readonly<Record<string, number>>;
  readonly ours: Readonly<Record<string, number>>;
  readonly beyondOurs: Readonly<Record<string, number>>;
  readonly unknown: number;
  readonly unknownOurs: number;
}

/** Preemptors that waited about as long until they were bound. */
export interface WaitClass {
  readonly name: string;
  readonly decisions: number;
}

/** One decision. It has neither names nor a priority where the reader may not list plans. */
export interface DearDecision {
  readonly preemptor: string;
  readonly priority: number | null;
  readonly plan: string;
  readonly decided: string;
  readonly ours: Ours;
  readonly scheduler: SchedulersVictims;
  readonly open: boolean;
  readonly cost: CostLine;
}

/** What the scheduler did for one preemptor. */
export interface SchedulersVictims {
  readonly pods: number;
  readonly servedNobody: number;
  readonly groupsBroken: number;
  readonly inPiecesSeconds: number;
  readonly secondsUntilBound: number | null;
}

/** A line of the costs, or their sum. */
export interface CostLine {
  readonly name: string;
  readonly hours: number;
  readonly money: string | null;
}

/** What it cost, at most. */
export interface Costs {
  readonly resource: string;
  readonly prices: Readonly<Record<string, string>>;
  readonly lines: readonly CostLine[];
  readonly sum: CostLine;
  readonly withoutPrice: readonly string[];
}

/** What all checks say. */
export interface Findings {
  readonly findings: readonly Finding[];
}

/** What one check says. */
export interface Finding {
  readonly check: string;
  readonly level: "Error" | "Note" | "OK" | "Warning";
  readonly message: string;
  readonly fault: string | null;
  readonly remedy: string | null;
  readonly command: string | null;
}

/** What a search has found. */
export interface Found {
  readonly found: readonly FoundObject[];
  readonly more: boolean;
}

/** An object that has a view. */
export interface FoundObject {
  readonly kind: "clusterqueue" | "dispatchplan" | "job" | "localqueue" | "node" | "pod" | "podgroup" | "preemptionplan" | "workload";
  readonly namespace: string;
  readonly name: string;
}

/** What has changed on the map. Gangs are named by their places in the frame's own columns; -1 stands for pods */
export interface Frame {
  readonly since: string;
  readonly version: string;
  readonly moment: string;
  readonly trouble: string;
  readonly topologyKeys: readonly TopologyKey[] | null;
  readonly resources: readonly string[] | null;
  readonly gone: readonly string[];
  readonly nodes: FrameNodes;
  readonly gangs: GangColumns;
  readonly parts: PartColumns;
  readonly plans: FramePlans | null;
}

/** Nodes that came or changed, as they are now. See the columns of nodes in a map. */
export interface FrameNodes {
  readonly name: readonly string[];
  readonly block: readonly (string | null)[];
  readonly allocatable: readonly number[];
  readonly used: readonly number[];
  readonly leaving: readonly number[];
  readonly promised: readonly number[];
  readonly free: readonly number[];
  readonly anonymous: readonly number[];
}

/** The plans that are carried out. */
export interface FramePlans {
  readonly order: readonly string[];
  readonly changed: readonly FramePlan[];
}

/** A plan that came or changed, as it is now. See the plans in a map. */
export interface FramePlan {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly priority: number;
  readonly gang: number;
  readonly promised: FrameAmounts;
  readonly victims: FrameAmounts;
}

/** What a plan promises or takes. */
export interface FrameAmounts {
  readonly node: readonly string[];
  readonly gang: readonly number[];
  readonly pods: readonly number[];
  readonly amount: readonly number[];
}

/** Why there is no answer. */
export interface Fault {
  readonly reason: string;
  readonly message: string;
  readonly right: string;
}
