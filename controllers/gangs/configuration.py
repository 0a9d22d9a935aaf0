"""The planner's part of the Configuration file."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated

from msgspec import Meta, field

from api.backoff import Backoff
from api.disruption import COST_MOST, BudgetPolicy, DaemonSetPods, ScoreTerm, check_terms
from api.owner_annotations import ByOwner
from api.validation import FieldError
from controllers.gangs.lifecycle.limits import HOUR_SECONDS, EvictionLimits
from controllers.gangs.lifecycle.modes import Mode, Modes
from controllers.gangs.lifecycle.settings import (
    Confirmation,
    GatesMode,
    NativeGroups,
    PartialGangs,
    PiecesRule,
    Settings,
)
from controllers.gangs.planning.exclusions import EXCLUSION_SECONDS
from controllers.gangs.scheduler.attempts import Backoffs
from controllers.gangs.scheduler.configuration import SchedulerConfiguration
from nodes.groups.forms import ALL_PREEMPTING, PREEMPTING, Sources
from nodes.search.decision import BUDGET, EFFORT_PER_MILLISECOND, MILLISECONDS, Limits
from nodes.state.costs import CostRules
from runtime.plans.plan_retention import Retention
from serving.namespaces import NamespaceSelector
from serving.sections import Count, FilePath, Seconds, Section

__all__ = [
    "GroupsConfiguration",
    "LimitsConfiguration",
    "PlanningConfiguration",
    "ScoreConfiguration",
    "check_planning",
    "check_scheduler",
]


Milliseconds = Annotated[int, Meta(ge=0, le=60_000)]
Cost = Annotated[int, Meta(ge=0, le=COST_MOST)]


class ScoreConfiguration(Section):
    """Optional terms of a plan's score. They decide between plans that cost the same by everything before them.

    terms: those that count, the most important one first. DisruptionCost: the sum of what the victims say in the
    annotation reprieve.dev/disruption-cost. Cascade: the number of victims that would have to evict others to run
    elsewhere. Fragmentation: the number of nodes of a domain on which nothing ran but
    DaemonSets, so that the largest whole domains stay whole.
    maxDisruptionCost: a higher cost counts as this.
    maxDisruptionCostByNamespace: the same for the pods and PodGroups of single namespaces. 0: what is said there does
    not count.
    """

    terms: list[ScoreTerm] = field(default_factory=lambda: ["DisruptionCost"])
    max_disruption_cost: Cost = COST_MOST
    max_disruption_cost_by_namespace: dict[str, Cost] = field(default_factory=dict)


class GroupsConfiguration(Section):
    """Groups of pods that other programs make.

    byOwner: whether the pods of one PyTorchJob (and Kubeflow's other training jobs), JobSet, or replica of a
    LeaderWorkerSet belong together. Victims: they are evicted together or not at all. Gangs: they also wait for one
    another, and pods are evicted for all of them or for none. Off: each for itself. The annotation
    reprieve.dev/groups-by-owner of an owner or a namespace comes before this setting, and says the same. So does the
    annotation reprieve.dev/gang of an owner or its pods: true or false, whether they belong together.
    """

    by_owner: ByOwner = "Victims"


class LimitsConfiguration(Section):
    """Guard rails for evictions. docs/limits.md says what they do.

    podsPerPlan: the maximum number of victims of one plan. A decision with more is Blocked.
    podsPerHour: the maximum number of victims within an hour. A plan that would evict more waits.
    podsPerNamespaceAndHour: the same for the victims of one namespace.
    plansInVainPerHour: when this number of plans have evicted pods in vain within an hour, nobody is evicted for an
    hour, or until `reprieve resume`.
    """

    pods_per_plan: Count | None = None
    pods_per_hour: Count | None = None
    pods_per_namespace_and_hour: Count | None = None
    plans_in_vain_per_hour: Count | None = None


class PlanningConfiguration(Section):
    """How far reprieve goes on the nodes plane, and what bounds planning.

    mode: Observe: plans are decided, and only written down, as PreemptionPlans in phase Observed. No pod is touched,
    and the verbs give back what they get. Enforce: pods are evicted for what is decided, and the filter verb holds pods
    until there is room. It needs an extender. Off: nothing is decided, and the verbs give back what they get. A process
    that is not the one that decides about nodes says Off, such as that of the webhooks.
    enforcedNamespaceSelector: with mode Enforce, only namespaces that it selects are enforced. All others are observed.
    Their labels count as they are now. Empty: all namespaces are enforced. It has no effect with the other modes. The
    webhooks read it from their own Configuration file.
    limits: how many pods may be evicted for one plan, and within an hour. Null: there are no limits.
    score: what counts besides the KEP's own score when plans are compared.
    disruptionBudgets: how far the PodDisruptionBudgets of victims count. Prefer: a plan that exceeds them less is
    better, and no plan is refused for them. Respect: no plan exceeds them. Ignore: they do not count. The annotation
    reprieve.dev/disruption-budgets of a PodGroup may ask for a stricter policy (Respect is the strictest).
    looserBudgetNamespaces: namespaces whose PodGroups may ask for a looser one, too.
    daemonSetPods: whether pods of DaemonSets may be evicted. Keep: never, because their DaemonSet creates them again on
    the same node. Evict: like any other pod, as kube-scheduler does. Static pods always stay.
    searchBudget: steps that one exact packing may take before its domain is given up (SearchBudgetExhausted).
    searchMilliseconds: work that one search may do to make its first plan better, in milliseconds of a reference
    machine. It is counted and not measured, so the plan is the same on every machine. 0: the first plan counts.
    planDeadlineSeconds: how long after its commit a plan ends, with its reservation.
    backoff*Seconds: between two plans for a gang that does not fit.
    keptPlansPerPreemptor: how many ended plans without evictions stay. The current one stays with its PodGroup.
    observedPlansAtMost: how many plans in phase Observed stay, of all preemptors together.
    planRetentionSeconds: how long ended plans that evicted pods stay, and all plans of PodGroups that are gone.
    overdueSeconds: a pod that is still there this long after its deletion time counts as staying, and is no victim.
    maxWatchAgeSeconds: not ready when the API server has been silent for longer.
    confirmation: what follows if the scheduler says nothing of a member. Prefer: our model counts after
    confirmationSeconds. Require: nobody is evicted. Off: our model counts at once. Require does not go together with
    managedResources in the scheduler's configuration: a pod that the scheduler never sends us is never confirmed.
    confirmationSeconds: how long a plan waits for the scheduler's word on a member.
    inVainSeconds: how long a group evicts nothing after two plans that evicted pods in vain. Before that, the delay
    between such plans doubles up to it.
    exclusionSeconds: how long a node on which the scheduler did not take a pod is left out for pods of its class,
    unless the node changes before. If a filter of the pod asks about pods on other nodes: a minute at most.
    gates: when the scheduling gate reprieve.dev/gang is removed from a gang's members. Gathering: when minCount members
    exist. UntilPlanned: when our model has found a place for the gang. With both, if pods are to be evicted for it, a
    few members lose the gate first, and the others when the room is free. Off: at once, and the webhook adds no gate.
    The webhooks read this setting from their own Configuration file.
    nativeGroups: what is done for gangs whose PodGroup is of Kubernetes' own kind (scheduling.k8s.io). Steer: each
    member is offered its planned node only, and kube-scheduler itself evicts there. If it would evict others than the
    plan's victims, the plan is carried out as with Drive. Drive: pods are evicted and room is reserved for them as for
    ours, and kube-scheduler finds the room free. Off: kube-scheduler alone plans for them. The webhooks read this
    setting from their own Configuration file, too.
    partialGangs: what becomes of a gang that never ran whole and has members bound. Release: they are evicted, so that
    their room serves others; their controllers create them again, and the gang waits as a whole. docs/nodes.md says
    when this is not done. Keep: they stay, and an event says so.
    partialGangSeconds: how long such a gang waits for a plan that frees room for its other members.
    schedulerConfiguration: path of kube-scheduler's own configuration file. It says which of its lists are complete,
    which pods it never sends us, and how the filters of its profiles differ. Null: the scheduler's defaults count, and
    every pod comes.
    """

    mode: Mode = "Observe"
    enforced_namespace_selector: NamespaceSelector = field(default_factory=NamespaceSelector)
    limits: LimitsConfiguration | None = None
    score: ScoreConfiguration = field(default_factory=ScoreConfiguration)
    disruption_budgets: BudgetPolicy = "Prefer"
    looser_budget_namespaces: list[str] = field(default_factory=list)
    daemon_set_pods: DaemonSetPods = "Keep"
    search_budget: Count = BUDGET
    search_milliseconds: Milliseconds = MILLISECONDS
    plan_deadline_seconds: Seconds = 300
    backoff_initial_seconds: Seconds = 1
    backoff_max_seconds: Seconds = 60
    kept_plans_per_preemptor: Count = 3
    observed_plans_at_most: Count = 2000
    plan_retention_seconds: Seconds = 86400
    overdue_seconds: Seconds = 60
    max_watch_age_seconds: Seconds = 150
    confirmation: Confirmation = "Prefer"
    confirmation_seconds: Seconds = 5
    in_vain_seconds: Seconds = 1800
    exclusion_seconds: Seconds = EXCLUSION_SECONDS
    gates: GatesMode = "Gathering"
    native_groups: NativeGroups = "Steer"
    partial_gangs: PartialGangs = "Release"
    partial_gang_seconds: Seconds = 120
    scheduler_configuration: FilePath | None = None

    def settings(self, attempts: Backoffs) -> Settings:
        """What the rules of a gang's life know of it. `attempts`: of the scheduler's own file."""
        return Settings(
            Backoff(self.backoff_initial_seconds, self.backoff_max_seconds, jitter=0.0),
            self.plan_deadline_seconds,
            self.confirmation,
            self.confirmation_seconds,
            self.in_vain_seconds,
            untried_seconds=self.confirmation_seconds,
            partial_seconds=self.partial_gang_seconds,
            attempts=attempts,
        )

    def modes(self) -> Modes:
        """The mode of each namespace. Namespaces are to be put into it."""
        return Modes(self.mode, self.enforced_namespace_selector.selector)

    def preempting(self) -> Sources:
        """Sources of other programs whose gangs ask for room as one. All of them are observed."""
        return PREEMPTING if self.native_groups == "Off" and self.mode != "Observe" else ALL_PREEMPTING

    def drives(self) -> bool:
        """Whether we evict for every native gang. Where nothing is done for them, a plan says what Steer would do."""
        return self.native_groups == "Drive" or (self.native_groups == "Off" and self.mode != "Observe")

    def pieces(self) -> PiecesRule:
        """What becomes of gangs in pieces."""
        return PiecesRule(self.partial_gangs, self.partial_gang_seconds)

    def retention(self) -> Retention:
        """Which ended plans stay. Those of the last hour are what limits are counted by."""
        least = HOUR_SECONDS if self.limits is not None else 0.0
        return Retention(
            max(self.plan_retention_seconds, least),
            self.kept_plans_per_preemptor,
            self.observed_plans_at_most,
        )

    def eviction_limits(self) -> EvictionLimits | None:
        """How much may be evicted. None: everything that is decided."""
        if self.limits is None:
            return None
        return EvictionLimits(
            self.limits.pods_per_plan,
            self.limits.pods_per_hour,
            self.limits.pods_per_namespace_and_hour,
            self.limits.plans_in_vain_per_hour,
        )

    def search_limits(self) -> Limits:
        """What bounds a search."""
        return Limits(self.search_budget, self.search_milliseconds * EFFORT_PER_MILLISECOND)

    def costs(self) -> CostRules:
        """What the engine reads of it."""
        score = self.score
        return CostRules(
            terms=tuple(score.terms),
            most=score.max_disruption_cost,
            most_in=MappingProxyType(score.max_disruption_cost_by_namespace),
            budgets=self.disruption_budgets,
            daemon_set_pods=self.daemon_set_pods,
            looser_in=frozenset(self.looser_budget_namespaces),
        )


def check_planning(planning: PlanningConfiguration) -> None:
    """Raises FieldError for settings that do not go together."""
    if planning.backoff_max_seconds < planning.backoff_initial_seconds:
        raise FieldError("planning.backoffMaxSeconds", "is less than planning.backoffInitialSeconds")
    check_terms(planning.score.terms, "planning.score.terms")
    planning.enforced_namespace_selector.check("planning.enforcedNamespaceSelector")


def check_scheduler(planning: PlanningConfiguration, scheduler: SchedulerConfiguration) -> None:
    """Raises FieldError for a setting that does not go together with the scheduler's configuration."""
    if planning.confirmation == "Require" and scheduler.managed:
        named = ", ".join(sorted(resource for entry in scheduler.managed for resource in entry))
        raise FieldError(
            "planning.confirmation",
            f"cannot be Require, because reprieve's entry in {planning.scheduler_configuration} "
            f"has managedResources ({named}): pods that do not ask for them are never confirmed",
        )
