# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""The search of KEP-5710, "Preemption algorithm", in one domain.

The plain twin is tests/twins/nodes/victims.py.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from native.codes cimport EXHAUSTED, FEASIBLE, FITS, INFEASIBLE, PREEMPTS, SPENT, UNSCHEDULABLE
from native.nodes._bounds cimport Bound
from native.nodes._domain cimport Score, less
from native.nodes._floors cimport Floors
from native.nodes._improving cimport Improver
from native.nodes._placing cimport Placer


cdef int64_t EXACT = 8  # the part of the effort that goes into trying all sets of victims


cdef class Plan:
    """One complete answer for a domain."""

    def __init__(self, units, shapes, nodes):
        self.victims = np.empty(units, np.int32)
        self.placement = np.zeros((shapes, nodes), np.int32)

    cdef void copy(self, Plan other, Py_ssize_t first, Py_ssize_t end) noexcept nogil:
        cdef Py_ssize_t i, shape
        self.count, self.score = other.count, other.score
        for i in range(other.count):
            self.victims[i] = other.victims[i]
        for shape in range(self.placement.shape[0]):
            for i in range(first, end):
                self.placement[shape, i] = other.placement[shape, i]


cdef class Examiner:
    """Finds the best plan of one domain after the other."""

    def __init__(self, domain, packer, problem, effort, proves):
        """`effort`: how many nodes and pods it may look at to improve a plan, in each domain."""
        nodes, units, shapes = len(problem.free), len(problem.unit_priority), len(problem.requests)
        self.domain, self.packer, self.effort = domain, packer, effort
        self.placer = Placer(domain, packer, problem)
        self.improver = Improver(domain, problem)
        self.floors = Floors(domain, problem) if proves else None
        self.fixed = np.zeros(units, np.uint8)
        self.priorities, self.chosen = np.empty(units, np.int64), np.empty(units, np.int32)
        self.work = 0
        self.best, self.kept = (Plan(units, shapes, nodes) for _ in range(2))

    cdef int examine(self, Py_ssize_t index, Bound* bound) noexcept nogil:
        """The domain's outcome."""
        cdef int outcome
        self.domain.enter(index)
        self.any_plan = self.nobody_goes = False
        outcome = self.preempt(bound)
        self.domain.leave()
        return outcome

    cdef int preempt(self, Bound* bound) noexcept nogil:
        """KEP steps 2 to 7. Every potential victim is gone first, unless the bound makes that needless."""
        cdef Py_ssize_t i
        cdef int64_t cutoff = bound.cutoff
        cdef bint known = bound.status == FEASIBLE
        cdef bint violates = self.domain.would_violate()
        self.ended = self.lowest = self.improver.has_floor = self.improver.reached = False
        for i in range(self.domain.count):
            self.fixed[self.domain.units[i]] = 0
        for i in range(self.domain.count if violates or not known else 0):
            self.domain.take(self.domain.units[i])
        if not known and self.packer.pack() == INFEASIBLE:
            self.ended = True
            return UNSCHEDULABLE
        if not known and not self.fits():
            return EXHAUSTED
        if violates:
            self.reprieve_budgets()
        if violates or not known:
            self.cutoff(&cutoff)
        self.left = self.effort
        self.packer.steps = 0
        self.attempt(cutoff)
        if self.any_plan and not self.nobody_goes:
            self.ended = self.left > 0 and (self.is_best(bound) or self.exact())
            if not self.ended:
                self.improve(bound.cutoff)
                self.ended = self.improver.reached
        self.work += self.effort - self.left
        if not self.any_plan:
            return EXHAUSTED
        if self.nobody_goes:
            self.ended = True
            return FITS
        self.lowest = self.ended or self.best.score.highest <= bound.cutoff
        return PREEMPTS

    # ---- the steps

    cdef bint is_best(self, Bound* bound) noexcept nogil:
        """Whether it is proven that no plan costs less. If not, the improver knows when one does."""
        if self.floors is None or bound.status != FEASIBLE:
            return False
        if self.best.score.violations > 0 or self.best.score.highest != bound.cutoff:
            return False
        self.improver.has_floor = self.floors.find(&self.best.score, &self.improver.floor)
        return self.improver.has_floor and not less(&self.improver.floor, &self.best.score)

    cdef bint fits(self) noexcept nogil:
        """Whether a packing of the preemptor is found. One that is not found counts as none."""
        return self.packer.pack() == FEASIBLE or self.placer.place(False, False)

    cdef void reprieve_budgets(self) noexcept nogil:
        """KEP step 4: assume the preemptor, and put back units whose eviction would violate a budget."""
        cdef Py_ssize_t i, unit
        if not self.placer.place(False, False):
            self.packer.pack()
        self.domain.assume(self.packer.answer)
        for i in range(self.domain.count):
            unit = self.domain.units[i]
            if self.domain.strain(unit, -1) > 0 and self.domain.can_stay(unit):
                self.domain.put_back(unit)
                self.fixed[unit] = 1
        self.domain.clear()

    cdef void cutoff(self, int64_t* answer) noexcept nogil:
        """KEP step 5: the lowest priority N for which the preemptor fits with only units up to N gone."""
        cdef Py_ssize_t low = 0, middle, i, high = self.list_priorities(), count = high
        while low < high:
            middle = (low + high) // 2
            self.go(self.priorities[middle])
            if self.fits():
                high = middle
            else:
                low = middle + 1
        if low < count:
            answer[0] = self.priorities[low]
            return
        # Step 4 has put back units without which no packing is found.
        for i in range(self.domain.count):
            self.fixed[self.domain.units[i]] = 0
        answer[0] = self.domain.unit_priority[self.domain.units[0]]

    cdef Py_ssize_t list_priorities(self) noexcept nogil:
        """The distinct priorities of the units that are not fixed, the lowest first; how many there are."""
        cdef Py_ssize_t i, unit, count = 0
        for i in range(self.domain.count - 1, -1, -1):
            unit = self.domain.units[i]
            if self.fixed[unit]:
                continue
            if count == 0 or self.priorities[count - 1] != self.domain.unit_priority[unit]:
                self.priorities[count] = self.domain.unit_priority[unit]
                count += 1
        return count

    cdef void go(self, int64_t cutoff) noexcept nogil:
        """Exactly the units up to the cut-off are gone, but those fixed."""
        cdef Py_ssize_t i, unit, first = self.domain.up_to(cutoff)
        cdef bint goes
        for i in range(min(first, self.domain.first_gone()), self.domain.count):
            unit = self.domain.units[i]
            goes = self.domain.unit_priority[unit] <= cutoff and not self.fixed[unit]
            if goes and not self.domain.gone[unit]:
                self.domain.take(unit)
            elif not goes and self.domain.gone[unit]:
                self.domain.put_back(unit)
        if first < self.domain.count:
            self.domain.dearest = self.domain.units[first]

    cdef bint attempt(self, int64_t cutoff) noexcept nogil:
        """KEP step 6, in several ways; whether one is better than all before.

        Two of the ways share the price of a unit among its pieces: repetitions if each has one piece.
        """
        cdef bint better = False, placed
        cdef int way
        self.charge(5 * (self.domain.end - self.domain.first + self.domain.pieces))
        for way in range(5):
            if 1 < way < 4 and not self.domain.spread[self.domain.index]:
                continue
            self.go(cutoff)
            if way == 4:
                placed = self.packer.pack() == FEASIBLE
            else:
                placed = self.placer.place(way & 1 > 0, way & 2 > 0)
            if placed and self.settle(cutoff):
                better = True
            if self.nobody_goes:
                break
        return better

    cdef bint settle(self, int64_t cutoff) noexcept nogil:
        """KEP step 7: put back the units that can stay: those that a budget protects, then by importance."""
        cdef Py_ssize_t i, unit, count = 0, first
        self.go(cutoff)
        first = self.domain.first_gone()
        self.domain.assume(self.packer.answer)
        if self.domain.violations:
            for i in range(first, self.domain.count):
                unit = self.domain.units[i]
                if self.domain.gone[unit] and self.domain.strain(unit, -1) > 0 and self.domain.can_stay(unit):
                    self.domain.put_back(unit)
        for i in range(first, self.domain.count):
            unit = self.domain.units[i]
            if not self.domain.gone[unit]:
                continue
            if self.domain.can_stay(unit):
                self.domain.put_back(unit)
            else:
                self.chosen[count] = <int32_t>unit
                count += 1
        self.domain.clear()
        if count:
            return self.accept(count)
        # It fits with nobody gone, by a packing that was not found before.
        self.nobody_goes = self.any_plan = True
        self.keep(0)
        return True

    cdef bint accept(self, Py_ssize_t count) noexcept nogil:
        """Make the chosen victims and the packer's answer the plan, if that is better."""
        cdef Score score = self.domain.score(&self.chosen[0], count)
        if self.any_plan and not less(&score, &self.best.score):
            return False
        self.any_plan = True
        self.best.score = score
        self.keep(count)
        return True

    cdef void keep(self, Py_ssize_t count) noexcept nogil:
        """The chosen victims and the packer's answer are the plan."""
        cdef Py_ssize_t i, shape
        self.best.count = count
        for i in range(count):
            self.best.victims[i] = self.chosen[i]
        for shape in range(self.domain.shapes):
            for i in range(self.domain.first, self.domain.end):
                self.best.placement[shape, i] = self.packer.answer[shape, i]

    # ---- better than the first

    cdef void charge(self, int64_t work) noexcept nogil:
        """Take the work, and what exact packings took since, from the effort."""
        self.left -= work + self.packer.steps
        self.packer.steps = 0

    cdef void improve(self, int64_t cutoff) noexcept nogil:
        """Local search: fewer violations at any cut-off, then a lower one, then all the rest.

        `cutoff`: no lower one is possible, whatever the budgets.
        """
        cdef Py_ssize_t i
        if self.left <= 0:
            return
        if self.domain.budgets:
            for i in range(self.domain.count):
                self.fixed[self.domain.units[i]] = 0
            if self.best.score.violations > 0:
                self.refine(self.left // 3, self.domain.unit_priority[self.domain.units[0]], 0)
            self.lower(cutoff, self.left // 12)
        if self.nobody_goes:
            return
        self.refine(self.left, self.best.score.highest, -1)
        self.improver.begin(&self.best.victims[0], self.best.count, self.best.placement)
        self.improver.finish()
        self.adopt()

    cdef void lower(self, int64_t cutoff, int64_t work) noexcept nogil:
        """The lowest cut-off with no more violations, by a binary search, with this work for each."""
        cdef Py_ssize_t low = 0, middle, high
        high = self.list_priorities()
        while low < high and not self.nobody_goes:
            middle = (low + high) // 2
            if self.priorities[middle] >= self.best.score.highest:
                high = middle
            elif self.priorities[middle] < cutoff or not self.lowers(self.priorities[middle], work):
                low = middle + 1
            else:
                high = middle

    cdef bint lowers(self, int64_t cutoff, int64_t work) noexcept nogil:
        """Whether a plan up to this cut-off is found that is better; if not, the best one stays."""
        self.kept.copy(self.best, self.domain.first, self.domain.end)
        self.any_plan = False
        self.attempt(cutoff)
        if self.nobody_goes:
            return True
        if not self.any_plan or self.best.score.violations > self.kept.score.violations:
            self.descend(cutoff)
        if self.any_plan and self.best.score.violations > self.kept.score.violations:
            self.refine(work, cutoff, self.kept.score.violations)
        if self.any_plan and less(&self.best.score, &self.kept.score):
            return True
        self.any_plan = True
        self.best.copy(self.kept, self.domain.first, self.domain.end)
        return False

    cdef void descend(self, int64_t cutoff) noexcept nogil:
        """The plan that was kept, changed so that no unit above the cut-off goes, if that is better."""
        self.improver.begin(&self.kept.victims[0], self.kept.count, self.kept.placement)
        if self.improver.lower(cutoff) and (not self.any_plan or less(&self.improver.best, &self.best.score)):
            self.adopt()
            self.any_plan = True
        self.domain.clear()
        self.left += self.improver.left

    cdef void refine(self, int64_t work, int64_t ceiling, int64_t enough) noexcept nogil:
        """The best plan becomes better, with units up to the ceiling."""
        self.improver.begin(&self.best.victims[0], self.best.count, self.best.placement)
        self.improver.improve(work, ceiling, enough)
        self.left -= work - self.improver.left
        self.adopt()

    cdef void adopt(self) noexcept nogil:
        cdef Py_ssize_t i, shape
        self.domain.clear()
        self.best.score, self.best.count = self.improver.best, self.improver.best_count
        for i in range(self.best.count):
            self.best.victims[i] = self.improver.best_victims[i]
        for shape in range(self.domain.shapes):
            for i in range(self.domain.first, self.domain.end):
                self.best.placement[shape, i] = self.improver.best_placed[shape, i]

    cdef bint exact(self) noexcept nogil:
        """All sets of victims, as far as a part of the effort goes; whether that was far enough."""
        cdef Py_ssize_t i
        cdef int64_t rest = self.left - self.left // EXACT
        cdef bint done
        self.left //= EXACT
        self.kept.copy(self.best, self.domain.first, self.domain.end)
        for i in range(self.domain.count):
            if not self.domain.gone[self.domain.units[i]]:
                self.domain.take(self.domain.units[i])
        self.branch(0, 0, False)
        done = self.left > 0
        if not done:
            # Cut short, a set found on the way may still hold one that could be exchanged for a lower one.
            self.best.copy(self.kept, self.domain.first, self.domain.end)
        self.left = rest + max(0, self.left)
        return done

    cdef void branch(self, Py_ssize_t depth, Py_ssize_t count, bint evicted) noexcept nogil:
        """Units before `depth` are decided, `count` of them go; the others are gone, the preemptor fits."""
        cdef Py_ssize_t i, unit
        cdef bint fits
        cdef Score score
        self.charge(self.domain.end - self.domain.first + 1 + self.domain.count - depth)
        if self.left <= 0:
            return
        if evicted:
            for i in range(depth, self.domain.count):
                self.domain.put_back(self.domain.units[i])
            fits = self.packs()
            if fits:
                self.accept(count)
            for i in range(depth, self.domain.count):
                self.domain.take(self.domain.units[i])
            if fits:
                return
        if depth == self.domain.count:
            return
        unit = self.domain.units[depth]
        self.domain.put_back(unit)
        if self.packs():
            self.branch(depth + 1, count, False)
        self.domain.take(unit)
        self.chosen[count] = <int32_t>unit
        score = self.domain.score(&self.chosen[0], count + 1)
        if less(&score, &self.best.score):
            self.branch(depth + 1, count + 1, True)

    cdef bint packs(self) noexcept nogil:
        """Whether the preemptor fits; not to know ends the enumeration."""
        cdef int status = self.packer.pack()
        if status == SPENT:
            self.left = 0
        return status == FEASIBLE
