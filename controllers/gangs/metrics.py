"""What operators can watch; names after Prometheus' conventions, labels bounded (never a pod's name)."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

__all__ = [
    "ASKED",
    "CONFIRMATIONS",
    "CYCLES",
    "DRY_RUNS_REFUSED",
    "DRY_RUNS_SKIPPED",
    "EVICTIONS",
    "EVICTIONS_IN_VAIN",
    "GANGS",
    "GANGS_IN_PIECES",
    "GANGS_NOT_ASKED_ABOUT",
    "GATES_REMOVED",
    "IN_PIECES_SECONDS",
    "LEFTOVERS",
    "LIMIT_REACHED",
    "OBSERVED",
    "PARKED",
    "HAND_OVER_SECONDS",
    "NATIVE_PASSES",
    "NATIVE_PLANS",
    "PHASE_SECONDS",
    "PLANNING_SECONDS",
    "PLANS",
    "POD_WRITES_REFUSED",
    "PULSES",
    "STEERED_VICTIMS",
    "UNITS_BROKEN",
    "UNPLANNED",
    "WAKES",
]

PLANNING_SECONDS = Histogram(
    "reprieve_planning_seconds",
    "Time to decide for one gang.",
    buckets=(0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0),
)
PHASE_SECONDS = Histogram(
    "reprieve_gang_phase_seconds",
    "How long gangs were in a phase before they left it.",
    ["phase"],
    buckets=(0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 60.0, 300.0, 1800.0),
)
PLANS = Counter("reprieve_plans_total", "Plans that entered a phase.", ["phase"])
GANGS = Gauge(
    "reprieve_gangs", "Gangs by phase, as the leader knows them. 0 on replicas that do not lead.", ["phase"]
)
GANGS_IN_PIECES = Gauge(
    "reprieve_gangs_in_pieces",
    "Gangs that never ran whole and have members bound, as the leader knows them. 0 on replicas that do not lead.",
)
IN_PIECES_SECONDS = Gauge(
    "reprieve_oldest_gang_in_pieces_seconds",
    "How long the leader has seen the oldest gang that never ran whole with members bound. 0 if there is none.",
)
LIMIT_REACHED = Gauge(
    "reprieve_eviction_limit_reached",
    "Preemptors that a field of planning.limits holds back, as the leader knows them. 0 on replicas that do not lead. "
    "limit plansInVainPerHour: at least 1 while nobody is evicted because of it.",
    ["limit"],
)
LEFTOVERS = Gauge(
    "reprieve_leftovers",
    "What a former Enforce has left and nobody has withdrawn yet, as the leader knows it: units, marks, gates, "
    "nominations, pods (docs/modes.md). 0 on replicas that do not lead.",
    ["what"],
)
GANGS_NOT_ASKED_ABOUT = Gauge(
    "reprieve_gangs_not_asked_about",
    "Gangs for which the last search found a place, and whose scheduler has not called the leader during this term. "
    "0 on replicas that do not lead.",
)
GATES_REMOVED = Counter(
    "reprieve_gates_removed_total",
    "Attempts to remove a scheduling gate from a pod, by result: removed, gone (the pod is), refused.",
    ["result"],
)
EVICTIONS = Counter(
    "reprieve_evictions_total", "Pods deleted for a plan, by what the API server answered.", ["result"]
)
DRY_RUNS_REFUSED = Counter(
    "reprieve_eviction_dry_runs_refused_total",
    "Pods whose deletion the API server refused in a dry run, before any pod of the plan was evicted.",
)
DRY_RUNS_SKIPPED = Counter(
    "reprieve_eviction_dry_runs_skipped_total",
    "Pods whose eviction was not tried by a dry run. No webhook and no policy that the API shows may refuse it, and "
    "that of another pod of the same namespace, kind of owner and service account was tried.",
)
EVICTIONS_IN_VAIN = Counter(
    "reprieve_evictions_in_vain_total",
    "Pods evicted by plans whose gang did not get to run on their room.",
)
UNITS_BROKEN = Counter(
    "reprieve_units_broken_total",
    "Groups that are evicted whole or not at all. kube-scheduler evicted a part of them, and no plan names that part.",
)
CYCLES = Counter(
    "reprieve_preemption_cycles_total",
    "Owners whose pods a PodGroup does not evict for a while: both evicted each other, or it did so three times.",
)
CONFIRMATIONS = Counter(
    "reprieve_member_confirmations_total",
    "Planned members before evictions, by who confirmed that they fit (scheduler, model), or contradicted.",
    ["by"],
)
UNPLANNED = Counter(
    "reprieve_unplanned_evictions_total",
    "Pods that kube-scheduler evicted while it evicted by a plan that does not name them.",
)
STEERED_VICTIMS = Counter(
    "reprieve_steered_evictions_total",
    "Pods that plans name by which kube-scheduler has begun to evict for its own PodGroups.",
)
NATIVE_PLANS = Counter(
    "reprieve_native_plans_total",
    "Plans that were stored for gangs of kube-scheduler's own kind, by who evicts (spec.evictedBy) and why "
    "(spec.evictorReason).",
    ["evictor", "reason"],
)
NATIVE_PASSES = Counter(
    "reprieve_native_passes_total",
    "Passes of kube-scheduler over gangs of its own kind, by result: offered (a member was offered its planned node), "
    "held. A pass counts when the next one begins, or the gang is gone.",
    ["result"],
)
HAND_OVER_SECONDS = Histogram(
    "reprieve_hand_over_seconds",
    "Seconds from a plan by which kube-scheduler evicts to the first pass that was offered enough of its nodes. The "
    "backoff of the scheduler is most of it.",
    buckets=(0.1, 0.5, 1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0),
)
OBSERVED = Counter(
    "reprieve_observed_decisions_total",
    "Decisions for preemptors in namespaces that are only observed, by outcome, and by state: Same (made on the state "
    "before the scheduler began) or Changed. No pod was evicted for them.",
    ["outcome", "state"],
)
POD_WRITES_REFUSED = Counter(
    "reprieve_pod_writes_refused_total",
    "Writes to pods that reprieve itself refused to send, because planning.mode is not Enforce for their namespace. "
    "A write that was begun before that changed does not count. Above 0 is a fault of reprieve.",
)
PARKED = Counter(
    "reprieve_extender_parked_pods_total",
    "Preempt calls answered with no node: the pod is parked until a pod is deleted, a node changes, a pulse comes, or "
    "the scheduler's periodic flush.",
)
WAKES = Counter(
    "reprieve_wakes_total", "Conditions that bring back pods which were held or kept out.", ["reason"]
)
ASKED = Counter(
    "reprieve_gangs_asked_total", "Gangs whose members were brought back to the scheduler to be asked."
)
PULSES = Counter(
    "reprieve_pulses_total",
    "Pulses (a nomination set and cleared so that parked pods are retried), by result.",
    ["result"],
)
