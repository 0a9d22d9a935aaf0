"""Checks of the schedulers: whether they call us, with which settings, and whether pods wait for an unknown one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from answers.doctor.findings import Finding, fault, note, well
from answers.doctor.kinds import ConfigMap, Deployment, Program, SeenPod
from answers.doctor.seen import Seen
from api.core import Pod
from api.lease import Lease
from api.times import parse_rfc3339
from api.validation import FieldError
from api.words import some
from api.yaml import Json, YamlError, documents
from controllers.gangs.scheduler.configuration import SchedulerConfiguration, parse
from nodes.filters.profile import DEFAULT_SCHEDULER

__all__ = ["RELEASE", "calls", "configurations", "running", "settings", "unknown", "versions"]

BINARY: Final = "kube-scheduler"
OLDEST: Final = (1, 34)
LOOKS_WITHIN: Final = 10.0
"""Seconds after which a scheduler has looked at a new pod, and has said so in its status."""
RELEASE: Final = re.compile(r":v(\d+)\.(\d+)[^:/]*$")
"""The tag of an image: major and minor version."""


def calls(seen: Seen, now: float) -> list[Finding]:
    """Whether a scheduler calls us."""
    called = seen.called_at()
    if not called and not _has_scheduled(seen, _led_since(seen)):
        return [note("calls", "no scheduler has looked at a new pod since this process leads")]
    if not called and (mode := seen.planning_mode()) in ("Off", "Observe"):
        return [note("calls", f"planning.mode is {mode}: no scheduler calls the leader, and none has to")]
    if not called:
        message = "schedulers look at pods, and none has called the leader during this term"
        return [fault("calls", "SchedulerDoesNotCall", message)]
    ago = {name: now - parse_rfc3339(at, name) for name, at in called.items()}
    return [
        well("calls", some(f"{name} called {max(0, age):.0f} s ago" for name, age in sorted(ago.items())))
    ]


def settings(seen: Seen, now: float) -> list[Finding]:
    """Whether the configurations of schedulers that call us, as far as ConfigMaps hold them, are as we need them."""
    found, count, observed = [], 0, seen.planning_mode() in ("Off", "Observe")
    for place, text in configurations(seen):
        count += 1
        found += _ignorable(seen.planning_mode(), place, text)
        try:
            configuration = parse(text)
        except FieldError as error:
            found.append(fault("settings", "SchedulerConfigurationWrong", f"{place}: {error}"))
            continue
        if not observed and (short := _short(configuration)):
            message = f"{place}: the lists of nodes that {some(short)} sends may be cut"
            found.append(fault("settings", "NotEveryNodeIsOffered", message))
    if not count:
        return [note("settings", "no ConfigMap has a KubeSchedulerConfiguration with extenders")]
    return found or [well("settings", f"{count} KubeSchedulerConfigurations in ConfigMaps")]


def _ignorable(mode: str, place: str, text: str) -> list[Finding]:
    """Whether the preempt entries fit the mode: what an observer does not answer, the scheduler must do itself."""
    entries = [
        each
        for body in documents(text)
        if isinstance(body, dict) and isinstance(listed := body.get("extenders"), list)
        for each in listed
        if isinstance(each, dict) and each.get("preemptVerb")
    ]
    ours = [each.get("ignorable") is True for each in entries if _is_ours(each)]
    if mode == "Enforce" and any(ours):
        message = f"{place}: the preempt entry is ignorable, so the scheduler evicts by itself while reprieve is away"
        return [fault("settings", "PreemptIgnorable", message)]
    if mode in ("Off", "Observe") and not all(ours):
        why = f"planning.mode is {mode}, and nobody is preempted while reprieve is away"
        message = f"{place}: the preempt entry is not ignorable. {why}"
        return [fault("settings", "PreemptNotIgnorable", message)]
    return []


def _is_ours(entry: dict[str, Json]) -> bool:
    url = f"{str(entry.get('urlPrefix', '')).rstrip('/')}/{entry['preemptVerb']}"
    return url.endswith("/v1/preempt")


def versions(seen: Seen, now: float) -> list[Finding]:
    """Whether the kube-schedulers that run as pods are new enough."""
    images = sorted({program.image for program in running(seen)})
    releases = {image: match for image in images if (match := RELEASE.search(image))}
    old = [image for image, match in releases.items() if (int(match[1]), int(match[2])) < OLDEST]
    if old:
        return [fault("versions", "SchedulerNotSupported", f"a scheduler runs {some(old)}")]
    if not releases:
        return [note("versions", "no pod shows the version of a kube-scheduler")]
    return [well("versions", f"a scheduler runs {some(releases)}")]


def unknown(seen: Seen, now: float) -> list[Finding]:
    """Whether pods name a scheduler that never looked at any pod."""
    pods: Sequence[Pod] = seen.all(SeenPod)
    known = {_name(pod) for pod in pods if _was_seen(pod)} | set(seen.called_at())
    waiting = Counter(_name(pod) for pod in pods if _waits(pod, now) and _name(pod) not in known)
    if not waiting:
        return [
            well("schedulers", "a scheduler has looked at every pod that may be scheduled, or at one like it")
        ]
    named = some(f"{count} of {name}" for name, count in sorted(waiting.items()))
    return [fault("schedulers", "SchedulerUnknown", f"no scheduler has looked at pods: {named}")]


def _led_since(seen: Seen) -> float | None:
    """When the process began to lead, in seconds since the epoch; None if it does not say."""
    lease = seen.ours(Lease)
    at = lease.spec.acquire_time if lease is not None and lease.spec is not None else None
    return parse_rfc3339(at, "spec.acquireTime") if at else None


def _has_scheduled(seen: Seen, since: float | None) -> bool:
    """Whether a scheduler wrote to a pod after that. A cluster without new pods has no calls. True if unknown."""
    return since is None or any(
        parse_rfc3339(each.last_transition_time) > since
        for pod in seen.all(SeenPod)
        for each in pod.status.conditions or ()
        if each.type == "PodScheduled" and each.reason != "SchedulingGated" and each.last_transition_time
    )


def configurations(seen: Seen) -> Iterator[tuple[str, str]]:
    """Configurations of kube-scheduler with extenders, with their places. Others are none of our business."""
    for each in seen.all(ConfigMap):
        for key, text in (each.data or {}).items():
            if "KubeSchedulerConfiguration" not in text:
                continue
            try:
                bodies = [body for body in documents(text) if isinstance(body, dict)]
            except YamlError:
                continue
            if any(
                body.get("kind") == "KubeSchedulerConfiguration" and body.get("extenders") for body in bodies
            ):
                yield f"ConfigMap {each.metadata.namespace}/{each.metadata.name}, {key}", text


def _short(configuration: SchedulerConfiguration) -> list[str]:
    """The profiles whose filter calls may lack nodes."""
    return sorted(name for name, limits in configuration.limits.items() if limits.filter is not None)


def running(seen: Seen) -> Iterator[Program]:
    """The containers of kube-schedulers: static pods of the control plane, and Deployments."""
    specs = [pod.spec.containers for pod in seen.all(SeenPod)]
    specs += [each.spec.template.spec.containers for each in seen.all(Deployment)]
    for programs in specs:
        for program in programs or ():
            if BINARY in program.name or BINARY in program.image or BINARY in " ".join(program.command or ()):
                yield program


def _name(pod: Pod) -> str:
    return pod.spec.scheduler_name or DEFAULT_SCHEDULER


def _was_seen(pod: Pod) -> bool:
    """Whether a scheduler wrote to the pod. The API server itself writes that a pod is gated."""
    return any(
        each.type == "PodScheduled" and each.reason != "SchedulingGated"
        for each in pod.status.conditions or ()
    )


def _waits(pod: Pod, now: float) -> bool:
    """Whether a scheduler should have looked at the pod."""
    if pod.spec.node_name or pod.spec.scheduling_gates or pod.metadata.deletion_timestamp:
        return False
    return now - parse_rfc3339(pod.metadata.creation_timestamp or "1970-01-01T00:00:00Z") > LOOKS_WITHIN
