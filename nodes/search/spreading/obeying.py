"""The best plan that all filters take: over the domains, in the order of what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from native.codes import EXHAUSTED, FITS, PREEMPTS
from native.nodes._victims import search
from native.nodes.problem import Solution
from nodes.search.budgets import bounded
from nodes.search.cluster import Cluster
from nodes.search.problem import Built
from nodes.search.room import Room
from nodes.search.spreading.alone import Alone
from nodes.search.spreading.bounds import Range, shortfall
from nodes.search.spreading.cells import Cells
from nodes.search.spreading.refusals import Refusal, Refusals
from nodes.search.spreading.seeking import Bounds, Obeying, cost, in_order, required_nodes, seek
from nodes.search.spreading.sequences import Steps, at_once

__all__ = ["Obeyed", "obey"]

STEPS: Final = 20_000
"""Members that all searches of one decision put into cells, if there are few cells."""
FEW: Final = 100
"""Cells, times kinds of members. With more of them each step takes longer, and there are fewer."""
EACH: Final = 8
"""The least number of steps for each member."""
ROUNDS: Final = 64
"""How often the kernel searches the domains that are left."""
POSSIBLE: Final = (FITS, PREEMPTS, EXHAUSTED)


@dataclass(frozen=True, slots=True)
class Obeyed:
    """What the filters leave of a search."""

    found: Solution
    """The outcomes of all domains. Victims and placements are those of `plan`."""
    refusals: Refusals
    """The domains in which the filters refuse every plan."""
    plan: Obeying | None
    """The best plan; None if there is none."""
    cells: Cells
    built: Built
    """The problem of the search in all domains."""


def obey(
    cluster: Cluster,
    built: Built,
    found: Solution,
    *,
    budget: int,
    effort: int,
    strict: bool,
    proves: bool = False,
) -> Obeyed:
    """The best plan that all filters take. `found`: by the kernel, without the filters that look at other nodes.

    `proves`: as in `nodes.search.decision.Limits`.
    """
    cells = Cells(cluster)
    steps = STEPS * FEW // max(FEW, len(cells) * len(cells.kinds))
    least = EACH * len(cluster.preemptor.required)
    bounds = Bounds(budget, effort, strict, Steps(max(steps, least)), proves)
    return _Obeying(cells, built, found, bounds).all()


class _Obeying:
    def __init__(self, cells: Cells, built: Built, found: Solution, bounds: Bounds) -> None:
        self._cluster, self._built, self._bounds = cells.cluster, built, bounds
        self._first, self._found = found, found
        self._cells = cells
        self._refusals = Refusals(self._cells)
        self._tried: dict[int, Obeying] = {}
        self._best: int | None = None
        self._bounded: set[int] = set()

    def all(self) -> Obeyed:
        """The plan, and what is said of each domain."""
        self._refuse_nodes()
        for _ in range(ROUNDS):
            domain = self._found.winner
            if domain < 0 or self._is_best(domain):
                break
            if domain not in self._refusals:
                self._try(domain)
                if self._is_best(domain):
                    break
                self._refuse_domains()
            self._search_others()
        else:
            self._give_up()
        self._refuse_domains()
        return self._answer()

    def _is_best(self, domain: int) -> bool:
        """Whether the best plan costs no more than any plan in the domain, which is the best one of those left."""
        best = self._best
        return best is not None and (self._tried[best].cost, best) <= (cost(self._found, domain), domain)

    def _try(self, domain: int) -> None:
        """The winner of the last search: as it is, or with its members dealt to cells."""
        found = self._found
        nodes = required_nodes(self._built, found)
        gone = [pod for unit in found.victims for pod in self._built.units.members(unit)]
        placed = in_order(self._cells, nodes, gone)
        plain = Obeying(self._cluster, self._built, found, placed or [])
        answer = (
            plain
            if placed is not None
            else seek(self._cells, plain, domain, cost(found, domain), self._bounds)
        )
        if isinstance(answer, Refusal):
            self._refusals[domain] = answer
            return
        self._tried[domain] = answer
        if self._best is None or (answer.cost, domain) < (self._tried[self._best].cost, self._best):
            self._best = domain

    def _search_others(self) -> None:
        """Search the domains that were neither refused nor tried."""
        problem = self._built.problem
        admitted = problem.admitted.copy()
        for domain in (*self._refusals, *self._tried):
            admitted[:, problem.domains[domain] : problem.domains[domain + 1]] = 0
        bounds, problem = self._bounds, replace(problem, admitted=admitted)
        found = search(problem, bounds.budget, bounds.effort, bounds.proves)
        self._found = bounded(found, self._cluster.preemptor.budgets)

    def _give_up(self) -> None:
        """Nothing is known of the domains that are left."""
        for domain, outcome in enumerate(self._found.outcomes):
            if outcome in POSSIBLE and domain not in self._tried and domain not in self._refusals:
                self._refusals.setdefault(domain, Refusal(False))

    def _answer(self) -> Obeyed:
        outcomes, scores = list(self._first.outcomes), list(self._first.scores)
        limited = list(self._first.bounded)
        left = {*range(len(outcomes))} - {*self._tried} - {*self._refusals}
        for domain in left:
            outcomes[domain] = self._found.outcomes[domain]
            scores[domain] = self._found.scores[domain]
            limited[domain] = self._found.bounded[domain]
        for domain, tried in self._tried.items():
            place = tried.found.winner
            outcomes[domain], scores[domain] = tried.found.outcomes[place], tried.found.scores[place]
            limited[domain] = False
        for domain, refusal in self._refusals.items():
            outcomes[domain], limited[domain] = refusal.outcome, False
        found = replace(self._first, outcomes=outcomes, scores=scores, bounded=limited)
        if self._best is None:
            found = replace(found, winner=-1, victims=[], placed=[])
            return Obeyed(found, self._refusals, None, self._cells, self._built)
        plan = self._tried[self._best]
        return Obeyed(replace(found, winner=self._best), self._refusals, plan, self._cells, self._built)

    # ---- what is refused without a search

    def _refuse_nodes(self) -> None:
        """For a single pod: the nodes that its conditions refuse, and where no eviction changes that."""
        if (alone := self._alone) is not None:
            self._refuse_if(alone.refuses)

    def _refuse_if(self, refuses: Callable[[Iterable[int]], bool]) -> None:
        for domain, outcome in enumerate(self._found.outcomes):
            known = domain in self._tried or domain in self._refusals
            if outcome in POSSIBLE and not known and refuses(self._cluster.layout.of(domain).tolist()):
                self._refusals[domain] = Refusal(True)

    @cached_property
    def _alone(self) -> Alone | None:
        """What the conditions of a single pod say of the nodes; None if it has none, or is a gang."""
        cluster = self._cluster
        is_alone = cluster.preemptor.kind == "Pod" and len(cluster.conditions) > 0
        return Alone(cluster, self._built.units) if is_alone else None

    def _refuse_domains(self) -> None:
        """Refuse the best domains if bounds alone say that no plan there obeys the filters."""
        if len(self._cluster.preemptor.required) <= 1:
            if self._alone is not None and self._refusals and not self._bounded:
                self._bounded.add(-1)  # once is enough
                self._refuse_if(self._alone.has_no_chance)
            return
        found = self._found
        left = [
            domain
            for domain, outcome in enumerate(found.outcomes)
            if outcome in POSSIBLE and not found.bounded[domain] and domain not in self._bounded
        ]
        self._bounded.update(left)
        for domain in sorted(left, key=lambda domain: (cost(found, domain), domain)):
            if domain in self._tried or domain in self._refusals:
                continue
            where = self._range(domain)
            short = shortfall(self._cells, where)
            if short is not None:
                fitting = at_once(self._cells, where.most, where.room, where.left)
                self._refusals[domain] = Refusal(True, short, fitting)

    def _range(self, domain: int) -> Range:
        """Where members may come in the domain, whoever is evicted there."""
        whole = self._whole
        return replace(whole, room=np.where(self._cells.domain == domain, whole.room, 0))

    @cached_property
    def _whole(self) -> Range:
        """Where members may come in any domain."""
        cells, everybody = self._cells, self._built.everybody
        none = np.zeros((len(cells.wide), len(cells)), np.bool_)
        return Range(
            cells.counts(everybody.tolist()),
            cells.counts(),
            cells.needed,
            cells.capacity(Room(self._cluster, everybody)),
            none,
            none,
        )
