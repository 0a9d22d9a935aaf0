"""What a process says of itself on its Lease (`api.published`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version

from api.published import BY_OWNER, GATES, NATIVE_GROUPS, QUOTA_MODE, SCHEDULERS, VERSION
from cli.common.configuration import Configuration
from extender.callers import Callers

__all__ = ["notes"]


def notes(configuration: Configuration, callers: Callers | None) -> Callable[[], Mapping[str, str]]:
    """A function that returns the annotations as they are then. `callers`: None for a process without an extender."""
    fixed = {
        VERSION: _version(),
        GATES: ",".join(
            f"{name}={str(value).lower()}" for name, value in sorted(configuration.feature_gates.items())
        ),
        QUOTA_MODE: configuration.quota.mode,
        BY_OWNER: configuration.groups.by_owner,
        NATIVE_GROUPS: configuration.planning.native_groups,
    }
    return lambda: {**fixed, SCHEDULERS: callers.text()} if callers is not None else fixed


def _version() -> str:
    try:
        return version("reprieve")
    except PackageNotFoundError:
        return "not known"
