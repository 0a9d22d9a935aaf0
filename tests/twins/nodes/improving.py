"""Makes a plan better in small steps, by a local search with a falling temperature.

Its answer depends on each number that is drawn and on the work that is counted, so it does both as the kernel does.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.twins.nodes.domain import Domain, Score
from tests.twins.nodes.needs import Need, Needs

__all__ = ["Improver", "Plan"]

WEIGHT = 2**31
WORSE_VIOLATION, WORSE_UNIT, WORSE_PRIORITY, WORSE_POD = 8192, 1024, 128, 16
SEEKING = 4
ROAMING_VIOLATION, ROAMING_UNIT = 256, 64
WARMTH = 256
LOOKED = 64
LOWERED = 8
STEP = 16
SEED = 88172645463325252
FACTOR = 2685821657736338717
WORD = 2**64 - 1

Change = tuple[int, int, int, int]
"""A unit and 1 (it goes) or -1 (it stays); or -1, and how many members of a shape come to a node."""


@dataclass(frozen=True)
class Plan:
    """Victims in the order of the list, and members by shape and node."""

    score: Score
    victims: list[int]
    placement: list[list[int]]


class Improver:
    """A plan in a domain, the best one so far, and the work that is left."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.victims: list[int] = []
        self.log: list[Change] = []
        self.lacking = [0] * len(domain.problem.requests)
        self.needs = Needs(domain)
        self.looked: list[int] = []
        self.random = SEED
        self.whole = self.left = self.span = 0
        self.violation, self.unit = WORSE_VIOLATION, WORSE_UNIT

    def begin(self, plan: Plan) -> None:
        """Exactly these victims are gone, and the members are placed so."""
        self.random = SEED
        for unit in self.domain.units:
            if self.domain.gone[unit]:
                self.domain.put_back(unit)
        self.victims.clear()
        for unit in plan.victims:
            self._take(unit)
        self.log.clear()
        self.domain.assume(plan.placement)
        self.needs.forget()
        self.now = self._measure()
        self._keep()

    def improve(self, work: int, ceiling: int, enough: int) -> None:
        """Until the work is spent, or no more violations are left than are enough."""
        priorities = [self.domain.problem.unit_priority[unit] for unit in self.domain.units]
        self.whole = self.left = work
        self.violation, self.unit = WORSE_VIOLATION, WORSE_UNIT
        if enough >= 0:
            self.unit = WORSE_UNIT // SEEKING
            if ceiling >= max(priorities):
                self.violation, self.unit = ROAMING_VIOLATION, ROAMING_UNIT
        self.needs.ceiling = ceiling
        self.span = max(1, min(ceiling, max(priorities)) - min(priorities) + 1)
        while self.left > 0 and self.best.score[0] > enough:
            self._step()

    def lower(self, ceiling: int) -> bool:
        """The best of some plans in which all units above the ceiling stay, if any is found.

        `left` is then minus the work.
        """
        found = False
        self.needs.ceiling = ceiling
        self.left = 0
        for _ in range(LOWERED):
            self._prepare()
            i = 0
            while i < len(self.victims):
                if self.domain.problem.unit_priority[self.victims[i]] > ceiling:
                    self._spare(self.victims[i])
                else:
                    i += 1
            if self._recreate():
                self._reprieve()
                if self.victims:
                    self.now = self._measure()
                    if not found or self.now < self.best.score:
                        found = True
                        self._keep()
            self._undo()
        return found

    def finish(self) -> None:
        """Exchange victims for units of lower priority on their nodes, until no exchange makes the plan better."""
        better = True
        while better:
            better = False
            i = 0
            while i < len(self.victims):
                if self._exchange(self.victims[i]):
                    better = True
                else:
                    i += 1
        self._keep()

    def _exchange(self, unit: int) -> bool:
        p = self.domain.problem
        node = next(
            p.piece_node[piece]
            for piece in self.domain.pieces_of(unit)
            if not self.domain.keeps(p.piece_node[piece], piece)
        )
        for piece in p.node_piece[p.node_pieces[node] : p.node_pieces[node + 1]]:
            other = p.piece_unit[piece]
            if self.domain.gone[other] or p.unit_priority[other] >= p.unit_priority[unit]:
                continue
            self.log.clear()
            self._take(other)
            if self.domain.can_stay(unit):
                self._put_back(unit)
                if self._measure() < self.now:
                    self._reprieve()
                    self.now = self._measure()
                    return True
            self._undo()
        return False

    def _keep(self) -> None:
        self.best = Plan(self.now, list(self.victims), [list(row) for row in self.domain.placed])
        self.left -= len(self.victims) + len(self.lacking) * (self.domain.end - self.domain.first)

    def _draw(self, below: int) -> int:
        self.random ^= self.random >> 12
        self.random ^= (self.random << 25) & WORD
        self.random ^= self.random >> 27
        return ((self.random * FACTOR & WORD) >> 33) % below

    # ---- changes that can be undone

    def _take(self, unit: int) -> None:
        self.domain.take(unit)
        self.victims.append(unit)
        self._touch(unit)
        self.log.append((unit, 0, 0, 1))
        self.left -= 2 + self._pieces(unit)

    def _put_back(self, unit: int) -> None:
        """The last victim takes its place in the list."""
        self.domain.put_back(unit)
        self.victims[self.victims.index(unit)] = self.victims[-1]
        self.victims.pop()
        self._touch(unit)
        self.log.append((unit, 0, 0, -1))
        self.left -= 2 + self._pieces(unit)

    def _touch(self, unit: int) -> None:
        for piece in self.domain.pieces_of(unit):
            self.needs.touch(self.domain.problem.piece_node[piece])

    def _pieces(self, unit: int) -> int:
        return self.domain.problem.unit_pieces[unit + 1] - self.domain.problem.unit_pieces[unit]

    def _add(self, shape: int, node: int, members: int) -> None:
        self.domain.add(shape, node, members)
        self.needs.touch(node)
        self.lacking[shape] -= members
        self.log.append((-1, shape, node, members))

    def _undo(self) -> None:
        for unit, shape, node, members in reversed(list(self.log)):
            if unit < 0:
                self.domain.add(shape, node, -members)
            elif members > 0:
                self._put_back(unit)
            else:
                self._take(unit)
        self.log.clear()
        self.needs.restore()

    # ---- one step

    def _prepare(self) -> None:
        """Nobody is spared yet, no node is closed, and no member lacks a node."""
        self.needs.step += 1
        self.log.clear()
        self.needs.spared.clear()
        self.needs.closed.clear()
        self.lacking = [0] * len(self.lacking)
        self.needs.shared, self.needs.batches = self._draw(2) > 0, self._draw(2) > 0
        self.left -= STEP

    def _step(self) -> None:
        self._prepare()
        self._ruin()
        if not self._recreate():
            self._undo()
            return
        self._reprieve()
        if not self.victims or not self._bears(self._measure()):
            self._undo()
            return
        self.now = self._measure()
        for unit in self.needs.spared:  # what is remembered of their nodes leaves them out
            self._touch(unit)
        self.needs.settle()
        if self.now < self.best.score:
            self._keep()

    def _bears(self, score: Score) -> bool:
        """Whether the plan may be this much worse: never in the end, at times while there is much work left."""
        violations, _, priorities, units, pods = (a - b for a, b in zip(score[:5], self.now[:5], strict=True))
        priorities = (priorities - units * WEIGHT) * WORSE_PRIORITY
        worse = self.violation * violations + self.unit * units + WORSE_POD * pods
        worse += priorities // self.span if priorities >= 0 else -(-priorities // self.span)
        if worse <= 0:
            return True
        worse = worse * self.whole // (max(1, self.left) * WARMTH)
        return worse < 30 and self._draw(2**worse) == 0

    def _ruin(self) -> None:
        """One to four victims stay, or the members leave one or two nodes, and some unit goes instead."""
        many = 1 + self._draw(min(4, len(self.victims)))
        first = self.victims[self._draw(len(self.victims))]
        way = self._draw(4)
        if way == 0:
            for _ in range((many + 1) // 2):
                node = self._node_of(self.victims[self._draw(len(self.victims))])
                self.needs.closed.add(node)
                self._displace(node, None)
            self._reprieve()
            unit = self.domain.units[self._draw(len(self.domain.units))]
            if not self.domain.gone[unit] and self.domain.problem.unit_priority[unit] <= self.needs.ceiling:
                self._take(unit)
            return
        self._spare(first)
        for _ in range(many - 1):
            if not self.victims:
                break
            unit = (
                self._unit_on(self._node_of(first))
                if way == 1
                else self.victims[self._draw(len(self.victims))]
            )
            if self.domain.gone[unit]:
                self._spare(unit)
        if self._draw(2):
            self._reprieve()

    def _spare(self, unit: int) -> None:
        """The victim stays, whoever is in its way."""
        self.needs.spared.add(unit)
        for piece in self.domain.pieces_of(unit):
            self._displace(self.domain.problem.piece_node[piece], piece)
        self._put_back(unit)

    def _displace(self, node: int, piece: int | None) -> None:
        """Members leave the node until the piece could be put back (None: all), beginning with a random shape."""
        shapes = len(self.lacking)
        first = self._draw(shapes)
        for shape in [(first + i) % shapes for i in range(shapes)]:
            while self.domain.placed[shape][node] and (piece is None or not self.domain.keeps(node, piece)):
                self._add(shape, node, -1)

    def _node_of(self, unit: int) -> int:
        """A random node of the domain on which the unit has a piece; one outside stands for the next one inside."""
        p = self.domain.problem
        nodes = p.piece_node[p.unit_pieces[unit] : p.unit_pieces[unit + 1]]
        k = self._draw(len(nodes))
        return next(node for node in nodes[k:] + nodes[:k] if self.domain.first <= node < self.domain.end)

    def _unit_on(self, node: int) -> int:
        """A random unit with a piece on the node."""
        p = self.domain.problem
        first = p.node_pieces[node]
        return p.piece_unit[p.node_piece[first + self._draw(p.node_pieces[node + 1] - first)]]

    def _reprieve(self) -> None:
        """Victims that can stay do, in the order of the list from a random one on."""
        most = len(self.victims)
        self.left -= 2 * most
        i = self._draw(most) if most else 0
        for _ in range(most):
            i = i if i < len(self.victims) else 0
            if self.victims and self.domain.can_stay(self.victims[i]):
                self._put_back(self.victims[i])
            else:
                i += 1

    # ---- members that have no node

    def _recreate(self) -> bool:
        shapes = len(self.lacking)
        first = self._draw(shapes)
        order = [(first + i) % shapes for i in range(shapes)]
        return all(not self.lacking[shape] or self._recreate_shape(shape) for shape in order)

    def _recreate_shape(self, shape: int) -> bool:
        first, nodes = self.domain.first, self.domain.end - self.domain.first
        if nodes <= LOOKED:
            self.looked = list(range(first, first + nodes))
        else:
            self.looked = [first + self._draw(nodes) for _ in range(LOOKED)]
        while self.lacking[shape]:
            node, found = self._cheapest(shape)
            if node is None:
                return False
            self._commit(shape, node, found.members)
        return True

    def _cheapest(self, shape: int) -> tuple[int | None, Need]:
        """The node that costs least for each member, nearly always: some are passed over by chance."""
        self.left -= len(self.looked) // 4
        self.needs.spent = 0
        best: int | None = None
        least = Need(0, 0, 0)
        for node in self.looked:
            one = self.needs.least(shape, node, self.lacking[shape])
            if not one.members:
                continue
            if best is not None:
                if self._draw(16) == 0:
                    continue
                mine = one.strain * least.members, one.price * least.members
                its = least.strain * one.members, least.price * one.members
                if mine > its or (mine == its and self._draw(2)):
                    continue
            best, least = node, one
        self.left -= self.needs.spent
        return best, least

    def _commit(self, shape: int, node: int, members: int) -> None:
        """Place the members, and take their victims."""
        self.needs.spent = 0
        found = self.needs.of(shape, node, members)
        self.left -= self.needs.spent
        for unit in found.units:
            self._take(unit)
        self._add(shape, node, members)

    def _measure(self) -> Score:
        return self.domain.score(sorted(self.victims))
