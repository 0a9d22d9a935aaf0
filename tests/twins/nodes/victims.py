"""The search of KEP-5710, "Preemption algorithm", domain by domain; the best domain wins."""

from __future__ import annotations

from tests.twins.nodes.bounds import Bound, bound
from tests.twins.nodes.domain import Domain, Score
from tests.twins.nodes.improving import Improver, Plan
from tests.twins.nodes.packing import FEASIBLE, INFEASIBLE, SPENT, Packer
from tests.twins.nodes.placing import Placer
from tests.twins.nodes.problem import EXHAUSTED, FITS, PREEMPTS, UNSCHEDULABLE, Problem, Solution

__all__ = ["search"]

EXACT = 8
NOBODY: Score = (0, 0, 0, 0, 0, 0)


def search(problem: Problem, budget: int, effort: int) -> Solution:
    """Who is evicted, and where the members are placed.

    `budget` bounds each exact packing (steps, never time), `effort` what is spent over all domains on a plan that is
    better than the first one. Both are deterministic.
    """
    return _Search(problem, budget, effort).run()


class _Search:
    def __init__(self, problem: Problem, budget: int, effort: int) -> None:
        self.problem = problem
        self.domain = Domain(problem)
        self.packer = Packer(self.domain, budget)
        self.placer = Placer(self.domain, self.packer)
        self.improver = Improver(self.domain)
        self.effort = effort // max(1, len(problem.domains) - 1)
        self.left = self.work = 0
        self.all_ended, self.ended, self.lowest, self.won_lowest = True, True, False, False
        count = len(problem.domains) - 1
        zeros = [*NOBODY, *(0 for _ in problem.domain_terms)]
        self.found = Solution([0] * count, [zeros[:] for _ in range(count)], [False] * count, -1, [], [])
        self.winner = -1
        self.won: tuple[Score, list[int], list[list[int]]] = (NOBODY, [], [])
        self.fixed: set[int] = set()
        self.best: Score | None = None
        self.nobody_goes = False
        self.victims: list[int] = []
        self.placement: list[list[int]] = []

    def run(self) -> Solution:
        """Every domain, the one with the lowest bound first, until no other one can win."""
        domains = range(len(self.problem.domains) - 1)
        statuses = [self._fits(index) for index in domains]
        found = self.found
        found.outcomes[:] = [FITS if status == FEASIBLE else UNSCHEDULABLE for status in statuses]
        if FEASIBLE in statuses:
            self.effort = 0
            fitting = [index for index in domains if statuses[index] == FEASIBLE]
            self.winner = min(fitting, key=lambda index: (self._fit_score(index), index))
            self._fits(self.winner)
            self.won = (NOBODY, [], self._placed(self.winner))
        contest = []
        for index, status in zip(domains, statuses, strict=True):
            if status != FEASIBLE:
                least = bound(self.domain, self.packer, self.problem, index)
                contest += [(least[1:], index, least)] if least[0] != INFEASIBLE else []
            else:
                found.scores[index] = self._fit_score(index)
        for *_, index, least in sorted(contest):
            self._contest(index, least)
        _, victims, placed = self.won
        return Solution(
            found.outcomes,
            found.scores,
            found.bounded,
            self.winner,
            victims,
            placed,
            self.work,
            self.all_ended,
            self.won_lowest,
        )

    def _fit_score(self, index: int) -> list[int]:
        return [*NOBODY, *(domain[index] for domain in self.problem.domain_terms)]

    def _contest(self, index: int, least: Bound) -> None:
        """Search the domain, if it can win."""
        found, (status, *lowest) = self.found, least
        fits = self.winner >= 0 and found.outcomes[self.winner] == FITS
        if status == FEASIBLE and self.winner >= 0 and (fits or list(self.won[0][:3]) < [0, *lowest]):
            found.outcomes[index], found.bounded[index] = PREEMPTS, True
            found.scores[index][:3] = [0, *lowest]
            return
        found.outcomes[index] = self._examine(index, least)
        self.all_ended = self.all_ended and self.ended
        if found.outcomes[index] == FITS:
            self._note_fit(index)
        if found.outcomes[index] != PREEMPTS or self.best is None:
            return
        found.scores[index] = list(self.best)
        if self.winner < 0 or (not fits and (self.best, index) < (self.won[0], self.winner)):
            self.winner, self.won = index, (self.best, list(self.victims), self._placed(index))
            self.won_lowest = self.lowest

    def _note_fit(self, index: int) -> None:
        """It fits with nobody gone, by a packing that was not found at first."""
        found, self.effort = self.found, 0
        found.scores[index] = score = self._fit_score(index)
        fits = self.winner >= 0 and found.outcomes[self.winner] == FITS
        if not fits or (score, index) < (self._fit_score(self.winner), self.winner):
            self.winner, self.won = index, (NOBODY, [], self._in_domain(index, self.placement))
            self.won_lowest = False

    def _placed(self, index: int) -> list[list[int]]:
        """The placement in that domain alone."""
        fits = self.found.outcomes[index] == FITS
        return self._in_domain(index, self.packer.answer if fits else self.placement)

    def _in_domain(self, index: int, placement: list[list[int]]) -> list[list[int]]:
        first, end = self.problem.domains[index], self.problem.domains[index + 1]
        return [[n if first <= k < end else 0 for k, n in enumerate(row)] for row in placement]

    def _fits(self, index: int) -> int:
        """Room that is free now goes before room that terminating pods still hold.

        Where the exact packing has spent its budget, other orders are tried.
        """
        self.domain.enter(index)
        self._wait(-1)
        status = self.packer.pack()
        self._wait(1)
        if status != FEASIBLE:
            status = self.packer.pack()
        if status == SPENT and any(
            self.placer.place(batches=way & 1 > 0, shared=way & 2 > 0) for way in range(4)
        ):
            status = FEASIBLE
        self.domain.leave()
        return status

    def _wait(self, sign: int) -> None:
        for node in range(self.domain.first, self.domain.end):
            for r, held in enumerate(self.problem.leaving[node]):
                self.domain.room[node][r] += sign * held
            for token, pods in enumerate(self.problem.held_by_leaving[node]):
                self.domain.held[node][token] -= sign * pods

    def _examine(self, index: int, least: Bound) -> int:
        self.domain.enter(index)
        self.fixed.clear()
        self.best, self.nobody_goes = None, False
        for unit in self.domain.units:
            self.domain.take(unit)
        outcome = self._preempt(least)
        self.domain.leave()
        return outcome

    def _preempt(self, least: Bound) -> int:
        """KEP steps 2 to 7, with every potential victim gone."""
        status, cutoff, _ = least
        known = status == FEASIBLE
        violates = self.domain.violations > 0
        self.ended = self.lowest = False
        if not known and self.packer.pack() == INFEASIBLE:
            self.ended = True
            return UNSCHEDULABLE
        if not known and not self._can_place():
            return EXHAUSTED
        if violates:
            self._reprieve_budgets()
        if violates or not known:
            cutoff = self._cutoff()
        self.left = self.effort
        self.packer.steps = 0
        self._attempt(cutoff)
        if self.best is not None and not self.nobody_goes:
            self.ended = self.left > 0 and self._exact()
            if not self.ended:
                self._improve(least[1])
        self.work += self.effort - self.left
        if self.best is None:
            return EXHAUSTED
        if self.nobody_goes:
            self.ended = True
            return FITS
        self.lowest = self.ended or self._best().score[1] <= least[1]
        return PREEMPTS

    # ---- the steps

    def _can_place(self) -> bool:
        """Whether a packing of the preemptor is found. One that is not found counts as none."""
        return self.packer.pack() == FEASIBLE or self.placer.place(batches=False, shared=False)

    def _reprieve_budgets(self) -> None:
        """KEP step 4: with the preemptor assumed, put back whom it would violate a budget to evict."""
        if not self.placer.place(batches=False, shared=False):
            self.packer.pack()
        self.domain.assume(self.packer.answer)
        for unit in self.domain.units:
            if self.domain.strain(unit, -1) > 0 and self.domain.can_stay(unit):
                self.domain.put_back(unit)
                self.fixed.add(unit)
        self.domain.clear()

    def _cutoff(self) -> int:
        """KEP step 5: the lowest priority N for which the preemptor fits with only units up to N gone."""
        priorities = self._priorities()
        low, high = 0, len(priorities)
        while low < high:
            middle = (low + high) // 2
            self._go(priorities[middle])
            if self._can_place():
                high = middle
            else:
                low = middle + 1
        if low < len(priorities):
            return priorities[low]
        # Step 4 has put back units without which no packing is found.
        self.fixed.clear()
        return self.problem.unit_priority[self.domain.units[0]]

    def _priorities(self) -> list[int]:
        """The distinct priorities of the units that are not fixed."""
        return sorted(
            {self.problem.unit_priority[unit] for unit in self.domain.units if unit not in self.fixed}
        )

    def _go(self, cutoff: int) -> None:
        """Exactly the units up to the cut-off are gone, but those fixed."""
        for unit in self.domain.units:
            goes = self.problem.unit_priority[unit] <= cutoff and unit not in self.fixed
            if goes != self.domain.gone[unit]:
                (self.domain.take if goes else self.domain.put_back)(unit)

    def _attempt(self, cutoff: int) -> bool:
        """KEP step 6, in several ways; whether one is better than all before."""
        better = False
        self._charge(5 * (self.domain.end - self.domain.first + self.domain.pieces))
        for way in range(5):
            self._go(cutoff)
            if way == 4:
                placed = self.packer.pack() == FEASIBLE
            else:
                placed = self.placer.place(batches=way & 1 > 0, shared=way & 2 > 0)
            if placed:
                better |= self._settle(cutoff)
            if self.nobody_goes:
                break
        return better

    def _settle(self, cutoff: int) -> bool:
        """KEP step 7: put back whoever can stay, whom a budget protects first, then by importance."""
        d = self.domain
        self._go(cutoff)
        d.assume(self.packer.answer)
        if d.violations:
            for unit in d.units:
                if d.gone[unit] and d.strain(unit, -1) > 0 and d.can_stay(unit):
                    d.put_back(unit)
        for unit in d.units:
            if d.gone[unit] and d.can_stay(unit):
                d.put_back(unit)
        d.clear()
        victims = [unit for unit in d.units if d.gone[unit]]
        if victims:
            return self._accept(victims)
        # It fits with nobody gone, by a packing that was not found before.
        self.nobody_goes = True
        self._keep(NOBODY, victims)
        return True

    def _accept(self, victims: list[int]) -> bool:
        score = self.domain.score(victims)
        if self.best is not None and score >= self.best:
            return False
        self._keep(score, victims)
        return True

    def _keep(self, score: Score, victims: list[int]) -> None:
        self.best, self.victims = score, victims
        self.placement = [list(row) for row in self.packer.answer]

    def _charge(self, work: int) -> None:
        """Take the work, and what exact packings took since, from the effort."""
        self.left -= work + self.packer.steps
        self.packer.steps = 0

    # ---- better than the first

    def _improve(self, cutoff: int) -> None:
        """Local search: fewer violations at any cut-off, then a lower one, then all the rest."""
        if self.left <= 0:
            return
        if self.problem.allowed:
            self.fixed.clear()
            if self._best().score[0] > 0:
                self._refine(self.left // 3, self.problem.unit_priority[self.domain.units[0]], 0)
            self._lower(cutoff, self.left // 12)
        if self.nobody_goes:
            return
        self._refine(self.left, self._best().score[1], -1)
        self.improver.begin(self._best())
        self.improver.finish()
        self._adopt()

    def _lower(self, cutoff: int, work: int) -> None:
        """The lowest cut-off with no more violations, by a binary search, with this work for each."""
        priorities = self._priorities()
        low, high = 0, len(priorities)
        while low < high and not self.nobody_goes:
            middle = (low + high) // 2
            if priorities[middle] >= self._best().score[1]:
                high = middle
            elif priorities[middle] < cutoff or not self._lowers(priorities[middle], work):
                low = middle + 1
            else:
                high = middle

    def _lowers(self, cutoff: int, work: int) -> bool:
        """Whether a plan up to this cut-off is found that is better; if not, the best one stays."""
        kept = self._best()
        self.best = None
        self._attempt(cutoff)
        found: Score | None = self.best
        if self.nobody_goes:
            return True
        if found is None or found[0] > kept.score[0]:
            self._descend(kept, cutoff)
            found = self.best
        if found is not None and found[0] > kept.score[0]:
            self._refine(work, cutoff, kept.score[0])
            found = self.best
        if found is not None and found < kept.score:
            return True
        self.best, self.victims, self.placement = kept.score, kept.victims, kept.placement
        return False

    def _best(self) -> Plan:
        assert self.best is not None
        return Plan(self.best, self.victims, self.placement)

    def _descend(self, kept: Plan, cutoff: int) -> None:
        """The plan that was kept, changed so that no unit above the cut-off goes, if that is better."""
        self.improver.begin(kept)
        if self.improver.lower(cutoff) and (self.best is None or self.improver.best.score < self.best):
            self._adopt()
        self.domain.clear()
        self.left += self.improver.left

    def _refine(self, work: int, ceiling: int, enough: int) -> None:
        self.improver.begin(self._best())
        self.improver.improve(work, ceiling, enough)
        self.left -= work - self.improver.left
        self._adopt()

    def _adopt(self) -> None:
        self.domain.clear()
        best = self.improver.best
        self.best, self.victims, self.placement = best.score, best.victims, best.placement

    def _exact(self) -> bool:
        """All sets of victims, as far as a part of the effort goes; whether that was far enough."""
        kept = (self.best, self.victims, self.placement)
        share = self.left // EXACT
        rest, self.left = self.left - share, share
        for unit in self.domain.units:
            if not self.domain.gone[unit]:
                self.domain.take(unit)
        self._branch(0, [], False)
        done = self.left > 0
        if not done:
            # Cut short, a set found on the way may still hold one that could be exchanged for a lower one.
            self.best, self.victims, self.placement = kept
        self.left = rest + max(0, self.left)
        return done

    def _branch(self, depth: int, victims: list[int], evicted: bool) -> None:
        """Units before `depth` are decided, the others gone; the preemptor fits so."""
        d = self.domain
        undecided = d.units[depth:]
        self._charge(d.end - d.first + 1 + len(undecided))
        if self.left <= 0:
            return
        if evicted:
            for unit in undecided:
                d.put_back(unit)
            fits = self._packs()
            if fits:
                self._accept(victims)
            for unit in undecided:
                d.take(unit)
            if fits:
                return
        if not undecided:
            return
        unit = undecided[0]
        d.put_back(unit)
        if self._packs():
            self._branch(depth + 1, victims, False)
        d.take(unit)
        more = [*victims, unit]
        if self.best is None or d.score(more) < self.best:
            self._branch(depth + 1, more, True)

    def _packs(self) -> bool:
        """Whether the preemptor fits; not to know ends the enumeration."""
        status = self.packer.pack()
        if status == SPENT:
            self.left = 0
        return status == FEASIBLE
