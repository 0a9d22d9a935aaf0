"""What a process says of itself on its Lease (`api.published`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Final

import msgspec

from api.pauses import pauses_text
from api.published import (
    BY_OWNER,
    ENFORCED,
    GATES,
    HOLDS,
    LIMITS_REACHED,
    MAX_BACKOFF,
    NATIVE_GROUPS,
    PAUSES,
    PLANNING_MODE,
    QUOTA_MODE,
    RIGHTS_MISSING,
    SCHEDULERS,
    VERSION,
)
from api.reached_limits import ReachedLimit, limits_text
from api.validation import FieldError
from cli.common.configuration import Configuration
from controllers.gangs.controller import Holding
from controllers.gangs.lifecycle.modes import Mode
from controllers.gangs.scheduler.file import load
from extender.callers import Callers
from runtime.mirror.pauses import Pauses

__all__ = ["Notes", "may_evict", "notes", "said_of"]

MEANS: Final[dict[Mode, str]] = {
    "Off": "nothing is decided about nodes, and no pod is evicted for room on them",
    "Observe": "decisions about nodes are only written down, and no pod is touched for them",
    "Enforce": "pods are evicted for what is decided about nodes",
}


Notes = Callable[[], Mapping[str, str]]
"""Returns the annotations as they are then."""


def notes(
    configuration: Configuration,
    callers: Callers | None,
    pauses: Pauses | None,
    lacking: Callable[[], Sequence[str]] = tuple,
    holding: Holding | None = None,
    limits: Callable[[], Sequence[ReachedLimit]] | None = None,
) -> Notes:
    """`callers`: None for a process without an extender. `pauses`: None for one that evicts nobody.

    `lacking`: the rights that the term lacks to enforce. `holding`: what it says is held; None: nothing is.
    `limits`: the limits on evictions that are reached. None for a process that has none.
    """
    fixed = {
        VERSION: _version(),
        GATES: ",".join(
            f"{name}={str(value).lower()}" for name, value in sorted(configuration.feature_gates.items())
        ),
        PLANNING_MODE: configuration.planning.mode,
        ENFORCED: _enforced(configuration),
        QUOTA_MODE: configuration.quota.mode,
        BY_OWNER: configuration.groups.by_owner,
        NATIVE_GROUPS: configuration.planning.native_groups,
    }
    if (longest := _max_backoff(configuration)) is not None:
        fixed[MAX_BACKOFF] = f"{longest:g}"

    def now() -> Mapping[str, str]:
        called = {SCHEDULERS: callers.text()} if callers is not None else {}
        paused = {PAUSES: pauses_text(pauses.holding())} if pauses is not None else {}
        missing = lacking()
        mode = {PLANNING_MODE: "Observe"} if missing else {}
        held = {HOLDS: holding.now.text() if holding is not None else "", RIGHTS_MISSING: ", ".join(missing)}
        limited = {LIMITS_REACHED: limits_text(limits())} if limits is not None else {}
        return {**fixed, **called, **paused, **mode, **held, **limited}

    return now


def said_of(configuration: Configuration) -> Mapping[str, str]:
    """What the first line of the log says: the modes, and what that of the nodes plane means."""
    mode = configuration.planning.mode
    said = {"planning": mode, "quota": configuration.quota.mode, "means": MEANS[mode]}
    if enforced := _enforced(configuration):
        said |= {"means": f"{MEANS[mode]}, in selected namespaces only", "namespaces": enforced}
    elif not configuration.planning.enforced_namespace_selector.is_empty:
        said["namespaces"] = f"planning.enforcedNamespaceSelector has no effect with planning.mode {mode}"
    return said


def may_evict(configuration: Configuration) -> bool:
    """Whether the process has a plane that decides about evictions. Only then may it read Namespaces."""
    return configuration.planning.mode != "Off" or configuration.quota.mode != "Off"


def _enforced(configuration: Configuration) -> str:
    """Which namespaces are enforced, if others are observed."""
    selector = configuration.planning.enforced_namespace_selector
    if configuration.planning.mode != "Enforce" or selector.is_empty:
        return ""
    return msgspec.json.encode(selector).decode()


def _max_backoff(configuration: Configuration) -> float | None:
    """podMaxBackoffSeconds of the scheduler; None if its file is not known."""
    path = configuration.planning.scheduler_configuration
    try:
        return load(path).backoffs.last if path is not None else None
    except FieldError:  # the controller of gangs says so
        return None


def _version() -> str:
    try:
        return version("reprieve")
    except PackageNotFoundError:
        return "not known"
