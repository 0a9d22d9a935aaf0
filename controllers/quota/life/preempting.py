"""What the status of a preemptor says of its plan: how many Workloads it waits for, and what failed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from api.backoff import Backoff
from api.times import rfc3339_micro
from api.words import counted
from controllers.quota.life.planned import Planned

__all__ = ["WAITS", "Preempting", "Troubles", "announcement"]

WAITS: Final = "WaitingForPreemptedWorkloads"
"""The reason of QuotaReserved=False."""
TEXT: Final = 500
"""The most characters of an error."""
SAID: Final = 16384
"""The most characters of what a cycle said. The rest must have room in a condition, too."""
BACKOFF: Final = Backoff(1.0, 60.0, jitter=0.0)
"""How long to wait before a plan is stored that could not be stored."""
SECOND: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Preempting:
    """A plan as its preemptor says it."""

    victims: int
    problem: str = ""
    """What failed and is tried again; empty if nothing did."""
    announcement: str = ""
    """Of a Workload with preemption gates: what its status must say before the first victim is evicted."""
    is_due: bool = False
    """Nobody has been called yet: the announcement is written at once."""

    def message(self, said: str) -> str:
        """The whole text. `said`: what the last cycle said, or nothing."""
        parts = (said[:SAID] or f"Pending the preemption of {self.victims} workload(s)", self.problem)
        return "; ".join(part for part in parts if part) + self.announcement


def announcement(plan: Planned, began: int) -> str:
    """What a Workload with preemption gates says while the plan is carried out (KEP-8303).

    `began`: when this process began with it, in microseconds. Each process writes anew, on condition of a version whose
    gates are open, and nothing that was written for another plan or by another process is taken for it.
    """
    return f" [plan {'/'.join(plan.key)}, {rfc3339_micro(began / SECOND)}]"


class Troubles:
    """What failed of the plans of one term, and is tried again."""

    def __init__(self) -> None:
        self._plans: dict[str, tuple[str, int]] = {}
        """By key of the preemptor: why its plan is not stored, and how often that was tried in a row."""
        self._victims: dict[str, str] = {}
        """By UID of a victim: why it is not evicted."""

    def not_stored(self, preemptor: str, error: str) -> float:
        """The plan of the preemptor (key) could not be stored. Returns after how many seconds it is tried again."""
        failures = self._plans.get(preemptor, ("", 0))[1] + 1
        self._plans[preemptor] = error[:TEXT], failures
        return BACKOFF.delay(failures)

    def stored(self, preemptor: str) -> None:
        """It is stored, or not needed any longer."""
        self._plans.pop(preemptor, None)

    def not_evicted(self, uid: str, answer: str) -> None:
        """The eviction of the victim could not be written. `answer`: without names, which not everybody may see."""
        self._victims[uid] = answer[:TEXT]

    def evicted(self, uids: Iterable[str]) -> bool:
        """They are evicted, or need not be any longer. Returns whether that is news."""
        known = [uid for uid in uids if self._victims.pop(uid, None) is not None]
        return bool(known)

    def of_plan(self, preemptor: str) -> str:
        """What the preemptor says of a plan that is not stored; empty if there is no such thing."""
        error, failures = self._plans.get(preemptor, ("", 0))
        return f"the plan could not be stored, and the write is retried: {error}" if failures else ""

    def of_victims(self, uids: Iterable[str]) -> str:
        """What a preemptor says of these victims; empty if nothing failed."""
        answers = [self._victims[uid] for uid in uids if uid in self._victims]
        if not answers:
            return ""
        return f"{counted(len(answers), 'eviction')} failed, and the write is retried: {', '.join(sorted({*answers}))}"
