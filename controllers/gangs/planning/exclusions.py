"""Nodes where a scheduler did not take pods that the search had planned there: no plan uses them for a while.

Only the leader remembers. What it knew ends with its process; `spec.excluded` of the stored plans still shows it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from api.clock import Clock
from nodes.state.snapshot import Exclusion, Snapshot

__all__ = ["ELSEWHERE", "EXCLUSION_SECONDS", "SEEN_LENGTH", "Exclusions"]

EXCLUSION_SECONDS: Final = 600.0
"""How long a contradiction is believed if the node does not change. What the search does not model may change."""
AFAR_SECONDS: Final = 60.0
"""How long one is believed at most if a filter of the pod looks at pods on other nodes: those come and go."""
REMEMBERED: Final = 10_000
"""Pairs of a pod class and a node. One more, and the one that was seen longest ago is forgotten."""
SEEN_LENGTH: Final = 256
"""Characters that are kept of what was seen."""
ELSEWHERE: Final = Exclusion("", "the plans of that namespace say more")
"""What preemptors of other namespaces learn."""


class _Memory(NamedTuple):
    exclusion: Exclusion
    changes: int
    """The node's counter of changes."""
    until: float


class Exclusions:
    """Remembers contradictions per pod class and node, until the node changes, and for `seconds` at most.

    A node changes with its labels, taints, unschedulable and allocatable, not with its pods: what the filters here say
    of its pods was true already when the scheduler said no.
    """

    def __init__(
        self,
        node_changes: Callable[[str], int],
        clock: Clock,
        *,
        seconds: float = EXCLUSION_SECONDS,
        most: int = REMEMBERED,
    ) -> None:
        """`node_changes`: the counter of a node (`nodes.state.tables.Tables.node_changes`). `most` are remembered."""
        self._node_changes, self._clock, self._seconds, self._most = node_changes, clock, seconds, most
        self._memory: OrderedDict[tuple[bytes, str], _Memory] = OrderedDict()
        """By key of the pod class and name of the node, in the order in which they were last seen."""

    def __len__(self) -> int:
        return len(self._memory)

    def note(
        self,
        pod_class_key: bytes,
        node: str,
        example_pod: str,
        seen: str,
        *,
        changes: int | None = None,
        looks_afar: bool = False,
    ) -> bool:
        """A scheduler did not take `example_pod` (NAMESPACE/NAME) on the node; whether that is news.

        `changes` is the node's counter when the scheduler looked at it. If it has changed since, nothing is noted.
        `looks_afar`: a filter of the pod asks about pods on other nodes.
        Seen again on the same node, the first example and its words stay: the same decision keeps its name.
        """
        now, changes_now = self._clock.monotonic(), self._node_changes(node)
        if changes is not None and changes != changes_now:
            return False
        known = self._memory.pop((pod_class_key, node), None)
        is_news = known is None or known.changes != changes_now or known.until <= now
        exclusion = (
            Exclusion(example_pod, seen[:SEEN_LENGTH]) if known is None or is_news else known.exclusion
        )
        seconds = min(self._seconds, AFAR_SECONDS) if looks_afar else self._seconds
        self._memory[pod_class_key, node] = _Memory(exclusion, changes_now, now + seconds)
        if len(self._memory) > self._most:
            self._memory.popitem(last=False)
        return is_news

    def expire(self) -> bool:
        """Forget what is old and what was seen of a node that has changed; whether there was any.

        If so, gangs that fit nowhere may fit now.
        """
        holding = self._holding()
        lapsed = len(holding) < len(self._memory)
        if lapsed:
            self._memory = OrderedDict((key, self._memory[key]) for key in self._memory if key in holding)
        return lapsed

    def apply(self, snapshot: Snapshot, namespace: str) -> Snapshot:
        """The snapshot in which the search leaves these nodes out for pods of these classes.

        The search is for a preemptor of the namespace, which is not told of pods of others. The snapshot is what the
        tables show now: it is compared with the counters of now.
        """
        holding = self._holding()
        if not holding:
            return snapshot
        keys, names = {key for key, _ in holding}, {node for _, node in holding}
        classes = {
            each.key: row
            for row, each in enumerate(snapshot.classes)
            if each is not None and each.key in keys
        }
        nodes = {
            name: row
            for row, name in enumerate(snapshot.node_names)
            if name in names and snapshot.node_live[row]
        }
        excluded = {
            (classes[key], nodes[node]): _as_read_in(namespace, exclusion)
            for (key, node), exclusion in holding.items()
            if key in classes and node in nodes
        }
        return replace(snapshot, excluded=excluded)

    def nodes_of(self, pod_class_keys: Iterable[bytes]) -> frozenset[str]:
        """Nodes that are left out for pods of any of these classes."""
        keys = set(pod_class_keys)
        return frozenset(node for key, node in self._holding() if key in keys)

    def _holding(self) -> dict[tuple[bytes, str], Exclusion]:
        """What still holds."""
        now = self._clock.monotonic()
        return {
            (key, node): memory.exclusion
            for (key, node), memory in self._memory.items()
            if memory.until > now and memory.changes == self._node_changes(node)
        }


def _as_read_in(namespace: str, exclusion: Exclusion) -> Exclusion:
    return exclusion if exclusion.pod.startswith(f"{namespace}/") else ELSEWHERE
