"""Whether the mirror may be trusted."""

from __future__ import annotations

from collections.abc import Callable

from runtime.mirror import Mirror

__all__ = ["not_synced", "too_old"]


def not_synced(mirror: Mirror) -> Callable[[], str | None]:
    """The readiness check that everything has been listed once: None, or what is wrong."""
    return lambda: None if mirror.synced else "the mirror has not seen the whole cluster yet"


def too_old(mirror: Mirror, seconds: float) -> Callable[[], str | None]:
    """The readiness check that the API server was heard in the last `seconds`."""

    def check() -> str | None:
        age = mirror.age()
        return None if age <= seconds else f"no word from the API server for {age:.0f} s"

    return check
