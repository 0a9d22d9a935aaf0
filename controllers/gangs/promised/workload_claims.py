"""Room that is promised to Workloads whose pods do not exist yet.

The quota plane says for whom (`runtime.exchange.placements`). Each pod of the Workload that comes into existence takes
one claim away: from then on it is a pod like others. It takes the scheduler a moment to bind it. Who plans evictions
for another Workload in that moment must not count on its room: see `coming`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from api.core import Pod
from api.integration import ADMISSION_GATE
from controllers.gangs.keys import GroupKey
from controllers.gangs.mirror.group_members import Claim
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.reservations import Reservations
from controllers.gangs.scheduler.messages import refusal
from nodes.groups.registry import group_of
from nodes.state.pods.pod_facts import controller_of
from runtime.exchange.placements import Owner

__all__ = ["WorkloadClaims"]


@dataclass(slots=True)
class _Held:
    owner: Owner
    claims: Sequence[tuple[str, Claim]]
    """In the order in which they end."""
    victims: frozenset[str]
    """UIDs of pods."""
    seen: set[str] = field(default_factory=set)
    """UIDs of the Workload's pods that came."""
    coming: dict[str, str] = field(default_factory=dict)
    """Nodes by UID of the pods that came later, and that the scheduler has not tried yet."""


class WorkloadClaims:
    """Writes to the reservations. Everything runs on the event loop."""

    def __init__(self, roster: Roster, reservations: Reservations) -> None:
        self._roster, self._reservations = roster, reservations
        self._held: dict[GroupKey, _Held] = {}

    def has(self, key: GroupKey) -> bool:
        """Whether something was promised under this key, and is not released."""
        return key in self._held

    @property
    def coming(self) -> dict[str, str]:
        """Nodes by UID of pods that are here, and that the scheduler is about to bind: it has refused none of them."""
        return {uid: node for held in self._held.values() for uid, node in held.coming.items()}

    def hold(
        self,
        key: GroupKey,
        owner: Owner,
        priority: int,
        claims: Sequence[tuple[str, Claim]],
        victims: frozenset[str],
        there: Iterable[str] = (),
    ) -> None:
        """Promise room. `claims`: what each pod (name) will use. `victims`: UIDs of pods that go for it. `there`: UIDs
        of its own pods that have come already.
        """
        held = self._held[key] = _Held(owner, claims, victims)
        self._reservations.open(key, priority, victims)
        for name, claim in claims:
            self._reservations.put_claim(key, _uid(key, name), claim)
        for uid in victims:
            self._settle(key, uid)
        for uid in there:
            self._came(key, held, uid)

    def release(self, key: GroupKey) -> bool:
        """Promise nothing any longer. Returns whether there was something."""
        if self._held.pop(key, None) is None:
            return False
        self._reservations.release(key)
        return True

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """The tables have a new state of a pod; None when it is gone."""
        for key, held in list(self._held.items()):
            if uid in held.victims:
                self._settle(key, uid)
                continue
            if pod is not None and uid not in held.seen and _is_of(pod, held.owner):
                self._came(key, held, uid)
                if len(held.seen) <= len(held.claims):
                    held.coming[uid] = held.claims[len(held.seen) - 1][1].node
            if pod is None or not _is_about_to_be_bound(pod):
                held.coming.pop(uid, None)

    def _came(self, key: GroupKey, held: _Held, uid: str) -> None:
        held.seen.add(uid)
        if held.owner.kind == "PodGroup" or len(held.seen) >= len(held.claims):
            # A group's pods exist from the beginning. They may be scheduled from now on, and are planned as a gang.
            self._reservations.release(key)
        else:
            name, _ = held.claims[len(held.seen) - 1]
            self._reservations.put_claim(key, _uid(key, name), None)

    def _settle(self, key: GroupKey, uid: str) -> None:
        """What the victim holds, as the tables have it now."""
        if self._reservations.priority(key) is None:
            return
        running, leaving = self._roster.evictable(uid), self._roster.leaving(uid)
        self._reservations.put_victim(key, uid, running or leaving, leaving=leaving is not None)


def _uid(key: GroupKey, pod: str) -> str:
    """The name of a claim. No pod has such a UID."""
    return f"{key[1]}/{pod}"


def _is_about_to_be_bound(pod: Pod) -> bool:
    return not pod.spec.node_name and pod.metadata.deletion_timestamp is None and refusal(pod) is None


def _is_of(pod: Pod, owner: Owner) -> bool:
    """Whether this is a pod of the owner that may be scheduled, or runs."""
    if pod.metadata.deletion_timestamp is not None:
        return False
    if owner.kind == "PodGroup":
        waits = any(gate.name == ADMISSION_GATE for gate in pod.spec.scheduling_gates or ())
        return group_of(pod) == (owner.namespace, owner.name) and not waits
    controller = controller_of(pod)
    is_there = pod.metadata.namespace == owner.namespace
    return is_there and controller is not None and controller.uid == owner.uid
