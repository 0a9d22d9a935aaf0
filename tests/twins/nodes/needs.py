"""Which units are evicted for more members on a node, and what is remembered of the answers.

What is remembered decides which work is counted, so it forgets exactly what the kernel forgets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.twins.nodes.domain import Domain

__all__ = ["Need", "Needs"]

WEIGHT = 2**31
POD_WEIGHT = 2**22
STRAIN = 2**40
GAIN = 1024
MOST_PODS = 2**16
MOST_STRAIN = 255
BATCH = 8
PIECES = 64
REFRESH = 8


@dataclass(frozen=True)
class Need:
    """What some more members on a node cost."""

    strain: int
    price: int
    members: int
    units: tuple[int, ...] = ()


NO_ROOM = Need(0, 0, 0)


@dataclass
class Memory:
    """A need, the state of the node then, the most members that were looked at, and the step in which they were."""

    need: Need
    state: int
    most: int
    step: int


Candidate = tuple[int, int]
"""A piece, and the price of its unit."""


class Needs:
    """What each node needs, as far as it is remembered. A node has another state after each change."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.step = self.spent = self.ceiling = self.states = 0
        self.shared = self.batches = False
        self.spared: set[int] = set()
        self.closed: set[int] = set()
        self.state: dict[int, int] = {}
        self.base: dict[int, int] = {}
        self.memory: dict[tuple[int, int, bool, bool], list[Memory | None]] = {}

    # ---- what is remembered

    def forget(self) -> None:
        """Nothing that was remembered counts any longer."""
        self.memory.clear()
        self.state = dict.fromkeys(range(self.domain.first, self.domain.end), 0)
        self.base = dict(self.state)

    def touch(self, node: int) -> None:
        """The room on the node has changed, or who is there."""
        self.states += 1
        self.state[node] = self.states

    def restore(self) -> None:
        """All nodes are as they were before the step."""
        self.state = dict(self.base)

    def settle(self) -> None:
        """The step is kept."""
        self.base = dict(self.state)

    def least(self, shape: int, node: int, most: int) -> Need:
        """What the node needs for one member; in batches: for as many as are cheapest together. 0 members: no room."""
        if not self.domain.problem.admitted[shape][node] or node in self.closed:
            return NO_ROOM
        most = min(most, BATCH) if self.batches else 1
        two = self.memory.setdefault((shape, node, self.shared, self.batches), [None, None])
        for memory in two:
            if memory is not None and memory.state == self.state[node] and self._recalls(memory, node, most):
                return memory.need
        within = self.state[node] != self.base[node]
        taken = two[0] is not None and two[0].state == self.base[node]
        found = self._weigh(shape, node, most)
        two[1 if within and taken else 0] = found
        return found.need

    def _recalls(self, memory: Memory, node: int, most: int) -> bool:
        """Whether what is remembered of the node's state counts for `most` members, after draws on budgets."""
        if not memory.need.members:
            return True
        if not memory.need.members <= most <= memory.most:
            return False
        p = self.domain.problem
        if p.allowed:
            if p.node_pieces[node + 1] - p.node_pieces[node] > PIECES:
                return False
            stale = memory.step != self.step and (self.step + node) % REFRESH == 0
            if memory.need.strain and stale:
                return False
            self.spent += len(memory.need.units)
            strain = sum(min(self.domain.strain(unit, 1), MOST_STRAIN) for unit in memory.need.units)
            if strain > memory.need.strain:
                return False
            memory.need = replace(memory.need, strain=strain)
        return True

    def _weigh(self, shape: int, node: int, most: int) -> Memory:
        """What the node needs for as many members as are cheapest together, at most `most`."""
        there = self._candidates(node)
        possible = self._possible(shape, node, there)
        if possible < 1:
            return Memory(NO_ROOM, self.state[node], most, self.step)
        best = self._of(shape, node, 1, there)
        looked = min(most, possible)
        if possible <= most:
            most = BATCH
        for members in range(2, looked + 1) if best.members else ():
            one = self._of(shape, node, members, there)
            if not one.members:
                most = BATCH
                break
            if _each(one, best.members) <= _each(best, members):
                best = one
        return Memory(best, self.state[node], most, self.step)

    # ---- what is needed

    def of(self, shape: int, node: int, members: int) -> Need:
        """The units that are evicted for `members` more members on the node."""
        return self._of(shape, node, members, self._candidates(node))

    def _of(self, shape: int, node: int, members: int, there: list[Candidate]) -> Need:
        p = self.domain.problem
        self.spent += 1
        if not self._beside(shape, node, members):
            return NO_ROOM
        missing = [
            max(0, members * request - room) if request > 0 else 0
            for request, room in zip(p.requests[shape], self.domain.room[node], strict=True)
        ]
        chosen: list[Candidate] = []
        while any(missing):
            self.spent += len(there)
            best = self._most_useful([each for each in there if each not in chosen], missing)
            if best is None:
                return NO_ROOM
            chosen.append(best)
            missing = [max(0, lack - room) for lack, room in zip(missing, p.piece_room[best[0]], strict=True)]
        prices = [price for _, price in chosen]
        units = tuple(p.piece_unit[piece] for piece, _ in chosen)
        return Need(
            sum(each // STRAIN for each in prices), sum(each % STRAIN for each in prices), members, units
        )

    def _beside(self, shape: int, node: int, members: int) -> bool:
        """Whether the pods and members on the node, and one another, let `members` be there."""
        if self.domain.kept_off(shape, node):
            return False
        return members == 1 or not self.domain.are_apart(shape, shape)

    def _candidates(self, node: int) -> list[Candidate]:
        """The pieces on the node whose units could be evicted."""
        p = self.domain.problem
        pieces = p.node_piece[p.node_pieces[node] : p.node_pieces[node + 1]]
        self.spent += len(pieces)
        there = [
            (piece, self._price(unit))
            for piece in pieces
            if not self.domain.gone[unit := p.piece_unit[piece]]
            and unit not in self.spared
            and p.unit_priority[unit] <= self.ceiling
        ]
        self.spent += len(there)
        return there

    def _possible(self, shape: int, node: int, there: list[Candidate]) -> int:
        """How many more members the room lets be on the node without the candidates, at most BATCH."""
        p = self.domain.problem
        freed = [p.piece_room[piece] for piece, _ in there]
        emptied = [sum(each) for each in zip(self.domain.room[node], *freed, strict=True)]
        asked = zip(emptied, p.requests[shape], strict=True)
        most: int = min([BATCH, *(room // request for room, request in asked if request > 0)])
        return most

    def _most_useful(self, there: list[Candidate], missing: list[int]) -> Candidate | None:
        """The piece that frees most of what is missing for its unit's price."""
        best: Candidate | None = None
        best_gain = 0
        for each in there:
            gain = sum(
                min(GAIN, room * GAIN // lack)
                for room, lack in zip(self.domain.problem.piece_room[each[0]], missing, strict=True)
                if lack
            )
            if gain > 0 and (best is None or gain * best[1] > best_gain * each[1]):
                best, best_gain = each, gain
        return best

    def _price(self, unit: int) -> int:
        """What it costs that the unit goes too: its priority and pods, and STRAIN for each violation."""
        p = self.domain.problem
        price = p.unit_priority[unit] + WEIGHT + min(p.unit_pods[unit], MOST_PODS) * POD_WEIGHT
        if self.shared:
            price //= p.unit_pieces[unit + 1] - p.unit_pieces[unit]
        return price + min(self.domain.strain(unit, 1), MOST_STRAIN) * STRAIN


def _each(need: Need, members: int) -> tuple[int, int]:
    """What it costs for each member, both sides multiplied by the other's members."""
    return need.strain * members, need.price * members
