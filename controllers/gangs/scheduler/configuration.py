"""kube-scheduler's own configuration file: which lists are complete, which pods never come, and how its filters differ.

`planning.schedulerConfiguration` names the file. Without it the scheduler's defaults count. Fields that do not matter
here are not looked at, so files of every version can be read.

Our entries among the extenders are those whose URL (`urlPrefix`, `/`, verb) ends as ours does: `/v1/filter`,
`/v1/preempt`. If several entries do, each of them may be ours. A pod surely comes to us only if every one of them is
interested in it, and a list is surely not shortened only if no other entry comes before the last one of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

from msgspec import Meta

from api.meta import Defaulting, OrDefault, Struct
from api.validation import FieldError, convert, join
from api.yaml import YamlError, documents
from controllers.gangs.scheduler.attempts import Backoffs
from controllers.gangs.scheduler.profiles import PluginConfig, Plugins, plugin_args, profile_of
from nodes.filters.profile import DEFAULT_SCHEDULER, Profiles

__all__ = ["Limits", "SchedulerConfiguration", "parse"]

PREEMPTION: Final = "DefaultPreemption"
FEASIBLE_NODES: Final = 100
"""kube-scheduler (minFeasibleNodesToFind) never stops to filter before it has this number of nodes."""
CANDIDATE_NODES: Final = 100
"""kube-scheduler's default of minCandidateNodesAbsolute."""
NOTHING: Final[frozenset[frozenset[str]]] = frozenset()

Percentage = Annotated[int, Meta(ge=0, le=100)]


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a list of nodes is before the scheduler may have left nodes out. Null: it never does."""

    filter: int | None = FEASIBLE_NODES
    """Of the names in a filter call."""
    candidates: int | None = CANDIDATE_NODES
    """Of the candidates in a preempt call."""

    def is_filter_complete(self, names: int) -> bool:
        """Whether a filter call with this number of names has every node that earlier filters let the pod on."""
        return self.filter is None or names < self.filter

    def are_candidates_complete(self, candidates: int) -> bool:
        """Whether a preempt call with this number of candidates has every node where evictions would help."""
        return self.candidates is None or candidates < self.candidates


DEFAULT_LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class SchedulerConfiguration:
    """What is known of the schedulers. The default is what kube-scheduler does without settings."""

    limits: Mapping[str, Limits] = field(default_factory=dict)
    """By schedulerName, one for each profile."""
    managed: frozenset[frozenset[str]] = NOTHING
    """The managedResources of our entries that have some. A pod comes to us if it asks for one of each set."""
    profiles: Profiles = field(default_factory=dict)
    """What the filters of each profile do, by schedulerName."""
    backoffs: Backoffs = field(default_factory=Backoffs)
    """How long pods and groups wait that were turned down."""

    def limits_of(self, scheduler_name: str) -> Limits:
        """The limits of a pod's scheduler. A pod without a schedulerName has the default one."""
        return self.limits.get(scheduler_name or DEFAULT_SCHEDULER, DEFAULT_LIMITS)

    def keeps_away(self, resources: Collection[str]) -> bool:
        """Whether filter or preempt is never called for a pod whose containers ask for these resources."""
        return any(entry.isdisjoint(resources) for entry in self.managed)


# ---- the file


class PreemptionArgs(Struct):
    """DefaultPreemptionArgs."""

    min_candidate_nodes_percentage: Percentage | None = None
    min_candidate_nodes_absolute: Annotated[int, Meta(ge=0)] | None = None


class Profile(Struct):
    """KubeSchedulerProfile."""

    scheduler_name: str | None = None
    percentage_of_nodes_to_score: Percentage | None = None
    plugins: Plugins | None = None
    plugin_config: list[PluginConfig] | None = None


class ManagedResource(Struct):
    """ExtenderManagedResource."""

    name: Annotated[str, Meta(min_length=1)]
    ignored_by_scheduler: bool | None = None


class Extender(Defaulting):
    """Extender. `urlPrefix` and verbs together are the URL of a verb; an empty verb is not called."""

    url_prefix: OrDefault[str] = ""
    filter_verb: OrDefault[str] = ""
    preempt_verb: OrDefault[str] = ""
    ignorable: OrDefault[bool] = False
    managed_resources: list[ManagedResource] | None = None

    def url(self, verb: str) -> str:
        """As kube-scheduler puts it together; empty if the verb is not called."""
        return f"{self.url_prefix.rstrip('/')}/{verb}" if verb else ""


class File(Struct, kw_only=True):
    """KubeSchedulerConfiguration."""

    api_version: Literal["kubescheduler.config.k8s.io/v1"]
    kind: Literal["KubeSchedulerConfiguration"]
    percentage_of_nodes_to_score: Percentage | None = None
    pod_initial_backoff_seconds: Annotated[int, Meta(ge=1)] | None = None
    pod_max_backoff_seconds: Annotated[int, Meta(ge=1)] | None = None
    profiles: list[Profile] | None = None
    extenders: list[Extender] | None = None


def parse(text: str) -> SchedulerConfiguration:
    """The configuration in that YAML text. Raises FieldError, which names the field."""
    try:
        found = [document for document in documents(text) if document is not None]
    except YamlError as error:
        raise FieldError("", str(error)) from None
    if len(found) != 1:
        raise FieldError("", f"expected one document, found {len(found)}")
    file: File = convert(found[0], File)
    # Those that may be ignored are called last.
    extenders = sorted(file.extenders or (), key=lambda extender: extender.ignorable)
    filters = _ours([each.url(each.filter_verb) for each in extenders], "filter")
    preempts = _ours([each.url(each.preempt_verb) for each in extenders], "preempt")
    ignored = {
        resource.name
        for extender in extenders
        for resource in extender.managed_resources or ()
        if resource.ignored_by_scheduler
    }
    profiles = list(_named(file))
    backoffs = _backoffs(file)
    return SchedulerConfiguration(
        limits={
            name: _limits(file, profile, path, is_alone=(filters.is_alone, preempts.is_alone))
            for name, profile, path in profiles
        },
        profiles={
            name: profile_of(profile.plugins, profile.plugin_config, ignored, path)
            for name, profile, path in profiles
        },
        managed=frozenset(
            frozenset(resource.name for resource in extenders[place].managed_resources or ())
            for place in (*filters.places, *preempts.places)
            if extenders[place].managed_resources
        ),
        backoffs=backoffs,
    )


def _backoffs(file: File) -> Backoffs:
    usual = Backoffs()
    first, last = file.pod_initial_backoff_seconds, file.pod_max_backoff_seconds
    found = Backoffs(usual.first if first is None else first, usual.last if last is None else last)
    if found.last < found.first:
        raise FieldError("podMaxBackoffSeconds", "is less than podInitialBackoffSeconds")
    return found


@dataclass(frozen=True, slots=True)
class _Ours:
    """The entries that may be ours for a verb."""

    places: Sequence[int]
    is_alone: bool
    """No other entry shortens the list before it comes to us."""


def _ours(urls: Sequence[str], verb: str) -> _Ours:
    """`urls`: of the verb, in the order in which the entries are called."""
    places = [place for place, url in enumerate(urls) if url.endswith(f"/v1/{verb}")]
    if not places:
        raise FieldError(
            "extenders", f"has no entry for reprieve: no {verb}Verb has a URL that ends in /v1/{verb}"
        )
    before = [url for url in urls[: places[-1]] if url]
    return _Ours(places, not before)


def _named(file: File) -> Iterator[tuple[str, Profile, str]]:
    """For each profile its name, and its path in the file."""
    profiles = file.profiles or [Profile()]
    seen: set[str] = set()
    for index, profile in enumerate(profiles):
        path = f"profiles[{index}]"
        name = profile.scheduler_name
        if not name:
            if len(profiles) > 1:
                raise FieldError(join(path, "schedulerName"), "is missing, and there are other profiles")
            name = DEFAULT_SCHEDULER
        if name in seen:
            raise FieldError(join(path, "schedulerName"), f"{name} is there twice")
        seen.add(name)
        yield name, profile, path


def _limits(file: File, profile: Profile, path: str, *, is_alone: tuple[bool, bool]) -> Limits:
    """The limits of a profile. `is_alone`: at filter and at preempt."""
    percentage = profile.percentage_of_nodes_to_score
    if percentage is None:
        percentage = file.percentage_of_nodes_to_score
    args, _ = plugin_args(profile.plugin_config, PREEMPTION, PreemptionArgs, path)
    absolute = args.min_candidate_nodes_absolute
    absolute = CANDIDATE_NODES if absolute is None else absolute
    return Limits(
        _limit(percentage, FEASIBLE_NODES, is_alone=is_alone[0]),
        _limit(args.min_candidate_nodes_percentage, absolute, is_alone=is_alone[1]),
    )


def _limit(percentage: int | None, minimum: int, *, is_alone: bool) -> int | None:
    """The scheduler stops at the larger of the percentage and the minimum. A short list that was shortened by another
    extender may come from one that was stopped, so no length is short enough.
    """
    if percentage == 100:
        return None
    return minimum if is_alone else 0
