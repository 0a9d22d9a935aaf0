"""Who the manager is, and the times that it keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from controllers.multikueue.configuration import MultiKueueConfiguration
from controllers.multikueue.life.seen import Settings
from runtime.terms.term import Term

__all__ = ["Identity", "life_settings"]

SECOND: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Identity:
    """Of one term."""

    manager: str
    """The UID of kube-system here."""
    origin: str
    term: str
    """It stands in copies that this term has written to."""
    lost_seconds: float

    @classmethod
    def of(cls, manager: str, settings: MultiKueueConfiguration, term: Term) -> Self:
        """The manager of this UID in this term."""
        return cls(
            manager, settings.origin, f"{term.holder}/{term.number}", settings.worker_lost_timeout_seconds
        )


def life_settings(settings: MultiKueueConfiguration, *, has_gates: bool) -> Settings:
    """`has_gates`: the feature gate MultiKueueOrchestratedPreemption."""
    give_up = settings.give_up_seconds
    return Settings(
        has_gates,
        settings.order == "LeastDisruption",
        round(settings.non_preempting_window_seconds * SECOND),
        round(settings.single_cluster_preemption_timeout_seconds * SECOND),
        round(give_up * SECOND) if give_up is not None else None,
    )
