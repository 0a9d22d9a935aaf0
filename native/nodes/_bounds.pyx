# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""What every plan in a domain costs at least, found in one sweep over its units from the lowest priority up.

The bound is the lowest cut-off for which the preemptor fits, and the sum of the lowest priorities of the
least number of units that leave the room that is missing. It counts no violations.
The plain twin is tests/twins/nodes/bounds.py.
"""

import numpy as np

from native.codes cimport INFEASIBLE


cdef int64_t WEIGHT = 1 << 31


cdef bint before(Bound* one, Bound* other) noexcept nogil:
    if one.cutoff != other.cutoff:
        return one.cutoff < other.cutoff
    if one.priorities != other.priorities:
        return one.priorities < other.priorities
    return one.domain < other.domain


cdef class Bounds:

    def __init__(self, Domain domain, Packer packer):
        self.domain, self.packer = domain, packer
        self.places = np.zeros(domain.shapes, np.int64)
        self.missing = np.zeros(domain.resources, np.int64)
        self.largest = np.zeros(domain.resources, np.int64)

    cdef Bound of(self, Py_ssize_t index) noexcept nogil:
        """Of a domain in which the preemptor does not fit with nobody gone."""
        cdef Bound bound
        self.domain.enter(index)
        bound.domain, bound.cutoff = index, 0
        bound.priorities = self.cheapest(self.fewest())
        self.sweep(&bound)
        self.domain.leave()
        return bound

    cdef void sweep(self, Bound* bound) noexcept nogil:
        """Let units go, the lowest priority first, until the preemptor fits or it is not known.

        `missing` is what `fewest` has left there.
        """
        cdef Py_ssize_t node, i = self.domain.count
        cdef bint counts = False
        bound.status = INFEASIBLE
        while i > 0 and bound.status == INFEASIBLE:
            bound.cutoff = self.domain.unit_priority[self.domain.units[i - 1]]
            while i > 0 and self.domain.unit_priority[self.domain.units[i - 1]] == bound.cutoff:
                i -= 1
                if counts:
                    self.let_go(self.domain.units[i])
                else:
                    self.free(self.domain.units[i])
            if not counts and not self.lacks():
                counts = True
                self.places[:] = 0
                for node in range(self.domain.first, self.domain.end):
                    self.count(node, 1)
            if counts and self.enough():
                bound.status = self.packer.pack()

    cdef void free(self, Py_ssize_t unit) noexcept nogil:
        """Let the unit go while room in sum is `missing`: no places have to be counted yet."""
        cdef Py_ssize_t piece, r
        for piece in range(self.domain.unit_pieces[unit], self.domain.unit_pieces[unit + 1]):
            if self.domain.first <= self.domain.piece_node[piece] < self.domain.end:
                for r in range(self.domain.resources):
                    self.missing[r] -= self.domain.piece_room[piece, r]
        self.domain.take(unit)

    cdef bint lacks(self) noexcept nogil:
        """Whether the room that is free on all nodes together is too little of some resource."""
        cdef Py_ssize_t r
        for r in range(self.domain.resources):
            if self.missing[r] > 0:
                return True
        return False

    cdef void let_go(self, Py_ssize_t unit) noexcept nogil:
        cdef Py_ssize_t piece, node
        for piece in range(self.domain.unit_pieces[unit], self.domain.unit_pieces[unit + 1]):
            node = self.domain.piece_node[piece]
            if self.domain.first <= node < self.domain.end:
                self.count(node, -1)
        self.domain.take(unit)
        for piece in range(self.domain.unit_pieces[unit], self.domain.unit_pieces[unit + 1]):
            node = self.domain.piece_node[piece]
            if self.domain.first <= node < self.domain.end:
                self.count(node, 1)

    cdef void count(self, Py_ssize_t node, int sign) noexcept nogil:
        cdef Py_ssize_t shape
        for shape in range(self.domain.shapes):
            self.places[shape] += sign * self.domain.capacity(shape, node)

    cdef bint enough(self) noexcept nogil:
        """Whether every shape alone finds its places."""
        cdef Py_ssize_t shape
        for shape in range(self.domain.shapes):
            if self.places[shape] < self.domain.counts[shape]:
                return False
        return True

    cdef int64_t fewest(self) noexcept nogil:
        """The least number of units to evict: the missing room, divided by what the largest unit holds."""
        cdef Py_ssize_t shape, node, r, i, piece
        cdef int64_t most = 1, here
        cdef Py_ssize_t unit
        for r in range(self.domain.resources):
            self.missing[r] = self.largest[r] = 0
            for shape in range(self.domain.shapes):
                self.missing[r] += self.domain.counts[shape] * self.domain.requests[shape, r]
            for node in range(self.domain.first, self.domain.end):
                self.missing[r] -= max(0, self.domain.room[node, r])
            for i in range(self.domain.count if self.missing[r] > 0 else 0):
                unit, here = self.domain.units[i], 0
                for piece in range(self.domain.unit_pieces[unit], self.domain.unit_pieces[unit + 1]):
                    node = self.domain.piece_node[piece]
                    if self.domain.first <= node < self.domain.end:
                        here += self.domain.piece_room[piece, r]
                self.largest[r] = max(self.largest[r], here)
            if self.missing[r] > 0 and self.largest[r] > 0:
                most = max(most, (self.missing[r] + self.largest[r] - 1) // self.largest[r])
        return most

    cdef int64_t cheapest(self, int64_t units) noexcept nogil:
        """The least sum of priorities that `units` units can have."""
        cdef Py_ssize_t i
        cdef int64_t priorities = 0
        for i in range(max(0, self.domain.count - units), self.domain.count):
            priorities += self.domain.unit_priority[self.domain.units[i]] + WEIGHT
        return priorities
