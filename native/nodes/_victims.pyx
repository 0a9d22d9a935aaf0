# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""The search of KEP-5710, "Preemption algorithm": which domains are examined, and which one wins.

The plain twin is tests/twins/nodes/victims.py.
"""

import numpy as np

from native.nodes.problem import Solution

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport qsort

from native.codes cimport FEASIBLE, FITS, INFEASIBLE, PREEMPTS, SPENT, UNSCHEDULABLE
from native.nodes._bounds cimport Bound, Bounds, before
from native.nodes._domain cimport Domain, Score, less
from native.nodes._examining cimport Examiner, Plan
from native.nodes._packing cimport Packer


def search(problem, int64_t budget, int64_t effort, bint proves=False):
    """Who is evicted, and where the members are placed; native/nodes/problem.py describes both sides.

    `proves`: no better plan is looked for once it is proven that there is none. The answer is the same, with
    less work.
    """
    cdef Search found = Search(problem, budget, effort, proves)
    with nogil:
        found.run()
    return found.answer()


BOUND = np.dtype(
    [("status", np.intc), ("cutoff", np.int64), ("priorities", np.int64), ("domain", np.intp)], align=True
)


cdef int _by_bound(const void* one, const void* other) noexcept nogil:
    return -1 if before(<Bound*>one, <Bound*>other) else 1


cdef class Search:
    cdef Domain domain
    cdef Packer packer
    cdef Bounds bounds
    cdef Bound[::1] open
    cdef uint8_t[::1] bounded
    cdef Examiner examiner
    cdef Plan won
    cdef Py_ssize_t winner
    cdef bint ended, lowest
    cdef int32_t[::1] outcomes
    cdef int32_t[::1] statuses
    cdef int64_t[:, ::1] scores

    def __init__(self, problem, budget, effort, proves):
        domains, nodes, units = len(problem.domains) - 1, len(problem.free), len(problem.unit_priority)
        self.domain = Domain(problem)
        self.packer = Packer(self.domain, budget)
        self.examiner = Examiner(self.domain, self.packer, problem, effort // max(1, domains), proves)
        self.bounds = Bounds(self.domain, self.packer)
        self.open = np.zeros(domains, BOUND)
        self.bounded = np.zeros(domains, np.uint8)
        self.won = Plan(units, len(problem.requests), nodes)
        self.winner, self.ended, self.lowest = -1, True, False
        self.outcomes = np.zeros(domains, np.int32)
        self.statuses = np.zeros(domains, np.int32)
        self.scores = np.zeros((domains, 6 + self.domain.terms), np.int64)

    def answer(self):
        """The arrays as plain lists; only the winner's nodes have members."""
        placed = np.zeros_like(self.won.placement)
        victims = []
        if self.winner >= 0:
            first, end = self.domain.domains[self.winner], self.domain.domains[self.winner + 1]
            placed[:, first:end] = np.asarray(self.won.placement)[:, first:end]
            victims = np.asarray(self.won.victims)[:self.won.count].tolist()
        return Solution(
            outcomes=np.asarray(self.outcomes).tolist(), scores=np.asarray(self.scores).tolist(),
            bounded=np.asarray(self.bounded).astype(bool).tolist(),
            winner=self.winner, victims=victims, placed=placed.tolist() if self.winner >= 0 else [],
            work=self.examiner.work, ended=self.ended, lowest=self.lowest,
        )

    cdef void run(self) noexcept nogil:
        """Every domain, the one with the lowest bound first, until no other one can win."""
        cdef Py_ssize_t index, i, count = 0, domains = self.outcomes.shape[0]
        cdef Bound bound
        for index in range(domains):
            self.statuses[index] = self.fits(index)
            if self.statuses[index] != FEASIBLE:
                continue
            self.outcomes[index] = FITS
            self.note_fit(index)
        if self.winner >= 0:
            self.fits(self.winner)
            self.adopt_fit()
        for index in range(domains):
            if self.statuses[index] != FEASIBLE:
                bound = self.bounds.of(index)
                self.outcomes[index] = UNSCHEDULABLE
                if bound.status != INFEASIBLE:
                    self.open[count] = bound
                    count += 1
        if count:
            qsort(&self.open[0], count, sizeof(Bound), _by_bound)
        for i in range(count):
            self.contest(&self.open[i])

    cdef void contest(self, Bound* bound) noexcept nogil:
        """Search the domain, if it can win."""
        if bound.status == FEASIBLE and self.loses(bound):
            self.outcomes[bound.domain], self.bounded[bound.domain] = PREEMPTS, 1
            self.scores[bound.domain, 1], self.scores[bound.domain, 2] = bound.cutoff, bound.priorities
            return
        self.outcomes[bound.domain] = self.examiner.examine(bound.domain, bound)
        self.ended = self.ended and self.examiner.ended
        if self.outcomes[bound.domain] == PREEMPTS:
            self.note(bound.domain)
        elif self.outcomes[bound.domain] == FITS and self.note_fit(bound.domain):
            self.won.copy(self.examiner.best, self.domain.first, self.domain.end)

    cdef bint loses(self, Bound* bound) noexcept nogil:
        """Whether every plan in the domain costs more than the best so far."""
        if self.winner < 0 or self.outcomes[self.winner] == FITS:
            return self.winner >= 0
        if self.won.score.violations > 0:
            return False
        if self.won.score.highest != bound.cutoff:
            return self.won.score.highest < bound.cutoff
        return self.won.score.priorities < bound.priorities

    cdef void adopt_fit(self) noexcept nogil:
        cdef Py_ssize_t shape, node
        self.won.count = 0
        for shape in range(self.domain.shapes):
            for node in range(self.domain.first, self.domain.end):
                self.won.placement[shape, node] = self.packer.answer[shape, node]

    cdef bint note_fit(self, Py_ssize_t index) noexcept nogil:
        """The domain's score, with nobody gone; whether it is the best so far."""
        cdef Py_ssize_t term
        for term in range(self.domain.terms):
            self.scores[index, 6 + term] = self.domain.domain_terms[term, index]
        if self.winner >= 0 and self.outcomes[self.winner] == FITS:
            if self.domain.is_dearer(index, self.winner):
                return False
            if self.winner < index and not self.domain.is_dearer(self.winner, index):
                return False
        self.winner, self.lowest = index, False
        self.examiner.effort = 0
        return True

    cdef void note(self, Py_ssize_t index) noexcept nogil:
        """The domain's score; its plan too if it is the best so far."""
        cdef Score score = self.examiner.best.score
        cdef Py_ssize_t term
        self.scores[index, 0], self.scores[index, 1] = score.violations, score.highest
        self.scores[index, 2], self.scores[index, 3] = score.priorities, score.units
        self.scores[index, 4], self.scores[index, 5] = score.pods, score.age
        for term in range(self.domain.terms):
            self.scores[index, 6 + term] = score.terms[term]
        if self.winner >= 0 and (self.outcomes[self.winner] == FITS or less(&self.won.score, &score)):
            return
        if self.winner >= 0 and self.winner < index and not less(&score, &self.won.score):
            return
        self.winner, self.lowest = index, self.examiner.lowest
        self.won.copy(self.examiner.best, self.domain.first, self.domain.end)

    cdef int fits(self, Py_ssize_t index) noexcept nogil:
        """Room that is free now goes before room that terminating pods still hold.

        Where the exact packing has spent its budget, other orders are tried.
        """
        cdef int status, way
        self.domain.enter(index)
        self.domain.wait(-1)
        status = self.packer.pack()
        self.domain.wait(1)
        if status != FEASIBLE:
            status = self.packer.pack()
        for way in range(4):
            if status == SPENT and self.examiner.placer.place(way & 1 > 0, way & 2 > 0):
                status = FEASIBLE
        self.domain.leave()
        return status
