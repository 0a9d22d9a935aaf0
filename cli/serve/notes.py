"""What a process says of itself on its Lease (`api.published`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version

from api.pauses import pauses_text
from api.published import BY_OWNER, GATES, MAX_BACKOFF, NATIVE_GROUPS, PAUSES, QUOTA_MODE, SCHEDULERS, VERSION
from api.validation import FieldError
from cli.common.configuration import Configuration
from controllers.gangs.scheduler.file import load
from extender.callers import Callers
from runtime.mirror.pauses import Pauses

__all__ = ["Notes", "notes"]


Notes = Callable[[], Mapping[str, str]]
"""Returns the annotations as they are then."""


def notes(configuration: Configuration, callers: Callers | None, pauses: Pauses) -> Notes:
    """`callers`: None for a process without an extender."""
    fixed = {
        VERSION: _version(),
        GATES: ",".join(
            f"{name}={str(value).lower()}" for name, value in sorted(configuration.feature_gates.items())
        ),
        QUOTA_MODE: configuration.quota.mode,
        BY_OWNER: configuration.groups.by_owner,
        NATIVE_GROUPS: configuration.planning.native_groups,
    }
    if (longest := _max_backoff(configuration)) is not None:
        fixed[MAX_BACKOFF] = f"{longest:g}"

    def now() -> Mapping[str, str]:
        called = {SCHEDULERS: callers.text()} if callers is not None else {}
        return {**fixed, **called, PAUSES: pauses_text(pauses.holding())}

    return now


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
