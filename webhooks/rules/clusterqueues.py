"""ClusterQueue: Kueue's rules, and those of KEP-1337 and KEP-8522."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from api.durations import DurationError, parse_duration
from api.kueue import MIN_ADMIT_DURATION_ANNOTATION
from api.words import listed, shown
from schema.verdict import INVALID, NOT_SUPPORTED, Cause, Verdict
from webhooks.rules.fields import child, entries, items, text, texts
from webhooks.rules.kueue import kueue_causes
from webhooks.rules.metadata import selector_causes
from webhooks.rules.quotas import Owner, resource_group_causes, weight_causes
from webhooks.rules.ratchet import new_causes
from webhooks.rules.request import Object, Request
from webhooks.rules.whole_amounts import quota_causes

__all__ = ["validate"]

MAX_FLAVORS: Final = 256
MAX_RESOURCES: Final = 256
MAX_COMBINATIONS: Final = 512
CHECKS: Final = "spec.admissionChecksStrategy.admissionChecks"

CONFIG: Final = "spec.preemption.withinClusterQueueConfig"
ANNOTATION: Final = f"metadata.annotations[{MIN_ADMIT_DURATION_ANNOTATION}]"
TIME_BASED_POLICY: Final = "LowerOrNewerEqualPriority"
LEAST_ADMIT: Final = 60 * 10**6
"""In microseconds."""


def validate(request: Request) -> Verdict:
    """The faults of the ClusterQueue."""
    if request.subresource:
        return Verdict()
    causes = [*kueue_causes(_kueue_causes, request), *new_causes(_own_causes, request)]
    return Verdict.of(causes, _warnings(request.new))


def _kueue_causes(request: Request) -> Iterator[Cause]:
    """Kueue's rules."""
    spec = child(request.new, "spec")
    owner = Owner("cohort", has_parent=bool(text(spec, "cohortName")), lends_own=True)
    yield from resource_group_causes(spec, owner)
    yield from selector_causes(child(spec, "namespaceSelector"), "spec.namespaceSelector")
    yield from _borrowing_causes(child(spec, "preemption"), "Never")
    yield from _fungibility_causes(spec)
    yield from weight_causes(spec)
    yield from _size_causes(spec)
    yield from _check_causes(spec, child(request.old or {}, "spec"))
    if request.old is not None:
        before = child(request.old, "spec").get("concurrentAdmissionPolicy")
        if spec.get("concurrentAdmissionPolicy") != before:
            yield Cause("spec.concurrentAdmissionPolicy", INVALID, "cannot be changed")


def _borrowing_causes(preemption: Object, reclaim: str) -> Iterator[Cause]:
    """The faults by KEP-1337: a queue that may not reclaim quota may not preempt while it borrows."""
    borrowing = preemption.get("borrowWithinCohort")
    if text(preemption, "reclaimWithinCohort") != reclaim or not isinstance(borrowing, dict):
        return
    policy = text(borrowing, "policy")
    if policy not in ("Never", reclaim):
        message = f"borrowWithinCohort.policy {shown(policy)} needs reclaimWithinCohort LowerPriority or Any"
        yield Cause("spec.preemption", INVALID, message)


def _fungibility_causes(spec: Object) -> Iterator[Cause]:
    fungibility = child(spec, "flavorFungibility")
    borrow, preempt = text(fungibility, "whenCanBorrow"), text(fungibility, "whenCanPreempt")
    if fungibility.get("preference") is not None and (borrow, preempt) != ("TryNextFlavor", "TryNextFlavor"):
        message = (
            f"{shown(fungibility['preference'])} needs whenCanBorrow and whenCanPreempt to be TryNextFlavor, "
            f"not {shown(borrow)} and {shown(preempt)}"
        )
        yield Cause("spec.flavorFungibility.preference", INVALID, message)


def _size_causes(spec: Object) -> Iterator[Cause]:
    groups = items(spec, "resourceGroups")
    flavors = sum(len(items(group, "flavors")) for group in groups)
    if flavors > MAX_FLAVORS:
        yield Cause(
            "spec.resourceGroups", INVALID, f"{flavors} flavors in all groups, more than {MAX_FLAVORS}"
        )
    resources = sum(len(texts(group, "coveredResources")) for group in groups)
    if resources > MAX_RESOURCES:
        message = f"{resources} covered resources in all groups, more than {MAX_RESOURCES}"
        yield Cause("spec.resourceGroups", INVALID, message)
    for index, group in enumerate(groups):
        quotas = sum(len(items(flavor, "resources")) for flavor in items(group, "flavors"))
        if quotas > MAX_COMBINATIONS:
            message = f"{quotas} quotas, flavors times resources, more than {MAX_COMBINATIONS}"
            yield Cause(f"spec.resourceGroups[{index}]", INVALID, message)


def _check_causes(spec: Object, before: Object) -> Iterator[Cause]:
    """The faults in flavors that checks name.

    A stored fault may stay if neither the flavors of the check nor those of the queue have changed.
    """
    flavors = _flavors(spec)
    stored = _checks(before) if flavors == _flavors(before) else {}
    for index, check in enumerate(items(child(spec, "admissionChecksStrategy"), "admissionChecks")):
        named = texts(check, "onFlavors")
        if stored.get(text(check, "name")) == set(named):
            continue
        for position, flavor in enumerate(named):
            if flavor not in flavors:
                message = (
                    f"{shown(flavor)} is no flavor of this ClusterQueue; it has {listed(sorted(flavors))}"
                )
                yield Cause(f"{CHECKS}[{index}].onFlavors[{position}]", NOT_SUPPORTED, message)


def _flavors(spec: Object) -> set[str]:
    return {
        text(flavor, "name") for group in items(spec, "resourceGroups") for flavor in items(group, "flavors")
    }


def _checks(spec: Object) -> dict[str, set[str]]:
    checks = items(child(spec, "admissionChecksStrategy"), "admissionChecks")
    return {text(check, "name"): set(texts(check, "onFlavors")) for check in checks}


def _own_causes(queue: Object) -> Iterator[Cause]:
    """Our own rules: whole amounts, and those for KEP-8522 and KEP-1337. A missing reclaimWithinCohort also counts as
    Never (KEP-1337)."""
    yield from quota_causes(child(queue, "spec"))
    preemption = child(queue, "spec", "preemption")
    yield from _borrowing_causes(preemption, "")
    policy = text(preemption, "withinClusterQueue")
    annotations = entries(child(queue, "metadata"), "annotations")
    places: list[tuple[str, str, object]] = []
    if isinstance(config := preemption.get("withinClusterQueueConfig"), dict):
        places.append((CONFIG, f"{CONFIG}.minAdmitDuration", config.get("minAdmitDuration")))
    if MIN_ADMIT_DURATION_ANNOTATION in annotations:
        places.append((ANNOTATION, ANNOTATION, annotations[MIN_ADMIT_DURATION_ANNOTATION]))
    for owner, path, duration in places:
        if policy != TIME_BASED_POLICY:
            message = (
                f"{shown(duration) if duration is not None else 'it'} needs withinClusterQueue {TIME_BASED_POLICY}, "
                f"not {shown(policy)}; it is for equal priorities"
            )
            yield Cause(owner, INVALID, message)
        if isinstance(duration, str) and (fault := _duration_fault(duration)):
            yield Cause(path, INVALID, fault)


def _duration_fault(text: str) -> str | None:
    try:
        duration = parse_duration(text)
    except DurationError as error:
        return str(error)
    return None if duration >= LEAST_ADMIT else f"{shown(text)} is less than a minute"


def _warnings(queue: Object) -> Iterator[str]:
    preemption = child(queue, "spec", "preemption")
    borrowing = child(preemption, "borrowWithinCohort")
    if borrowing.get("maxPriorityThreshold") is not None and text(borrowing, "policy") in ("Never", ""):
        yield (
            "spec.preemption.borrowWithinCohort.maxPriorityThreshold has no effect: borrowWithinCohort.policy is Never"
        )
    config = child(preemption, "withinClusterQueueConfig")
    annotated = entries(child(queue, "metadata"), "annotations").get(MIN_ADMIT_DURATION_ANNOTATION)
    if annotated is not None and config.get("minAdmitDuration") not in (None, annotated):
        yield f"{ANNOTATION} has no effect: {CONFIG}.minAdmitDuration is set"
