"""What brings pods back to the scheduler, and what notes that they came: each needs the other.

`asking` comes first, because a scheduler's attempt (`evidence`) answers it. `waking` comes last.
"""

from __future__ import annotations

from controllers.gangs.gangs import Gangs
from controllers.gangs.keys import GroupKey
from controllers.gangs.known import Known
from controllers.gangs.lifecycle.life import Life
from controllers.gangs.lifecycle.observations import Asked
from controllers.gangs.lifecycle.settings import GatesMode
from controllers.gangs.looking.evidence import Evidence
from controllers.gangs.planning.lone_preemptors import LonePreemptors
from controllers.gangs.waking.asking import Asking
from controllers.gangs.waking.gates import Gates
from controllers.gangs.waking.kept_out import KeptOut
from controllers.gangs.waking.nominations import Nominations
from controllers.gangs.waking.waker import Waker
from controllers.gangs.waking.waking import Waking
from controllers.gangs.writing.pod_writer import PodWriter
from controllers.gangs.writing.writes import Writes

__all__ = ["asking", "evidence", "gates", "waking"]


def asking(known: Known, pods: PodWriter, gangs: Gangs) -> Asking:
    """The gang hears that all members were asked for."""
    roster, waiters = known.mirror.roster, known.waiters

    def asked(group: GroupKey) -> None:
        gangs.report(group, Asked())
        gangs.nudge()

    waker = Waker(pods, roster, known.clock, waiters.gated)
    return Asking(pods, waker, waiters.waiting, waiters.parked, known.clock, asked)


def evidence(known: Known, gangs: Gangs, asking: Asking, lone: LonePreemptors) -> Evidence:
    """Whom a scheduler presents need not be asked for, and may confirm a plan."""

    def presented(group: GroupKey, uid: str) -> None:
        asking.presented(group, uid)
        gangs.presented(group)

    return Evidence(known.mirror.roster, known.scheduler, known.clock, presented, gang_of=lone.gang_of)


def waking(known: Known, gangs: Gangs, asking: Asking, evidence: Evidence, writes: Writes) -> Waking:
    """Everything that brings pods back."""
    roster, waker = known.mirror.roster, asking.waker
    kept_out = KeptOut(known.promises.leftover, roster)
    nominations = Nominations(known.waiters.waiting, roster, evidence, waker)
    return Waking(waker, kept_out, asking, nominations, gangs, roster, writes)


def gates(known: Known, mode: GatesMode, pods: PodWriter, gangs: Gangs) -> Gates:
    """They are looked at whenever a gang's life changes.

    A scheduler that is to call us first gets the members of a complete gang without a plan.
    """
    mirror = known.mirror

    def life_of(group: GroupKey) -> Life:
        return Life(placed=True) if gangs.awaits_caller(group) else gangs.life_of(group)

    gated, trusted = known.waiters.gated, mirror.is_trusted
    made = Gates(mode, gated, mirror.roster, life_of, pods, trusted, known.clock)
    made.on_opened(gangs.stir)
    gangs.on_change(made.gang_changed)
    return made
