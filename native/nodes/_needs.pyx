# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""Which units have to go for more members on a node, for the steps of the local search.

The plain twin is tests/twins/nodes/improving.py.
"""

import numpy as np

from libc.stdint cimport int64_t

from native.nodes._domain cimport Domain


cdef int64_t WEIGHT = 1 << 31
cdef int64_t POD_WEIGHT = 1 << 22  # for the price of a unit: a pod is a small part of a unit
cdef int64_t STRAIN = 1 << 40
cdef int64_t GAIN = 1024
cdef int64_t MOST_PODS = 1 << 16  # so that products fit into 64 bits
cdef int64_t MOST_STRAIN = 255


cdef class Needs:

    def __init__(self, Domain domain, problem):
        nodes, units = len(problem.free), len(problem.unit_priority)
        self.domain = domain
        self.needed = np.zeros(units, np.int32)
        self.spared, self.closed = np.zeros(units, np.int64), np.zeros(nodes, np.int64)
        self.missing = np.zeros(domain.resources, np.int64)
        self.step = 0

    cdef Need of(self, Py_ssize_t shape, Py_ssize_t node, int64_t members) noexcept nogil:
        """Who has to go for so many more members on the node, into `needed`. 0 members: no room."""
        cdef Need found
        cdef Py_ssize_t r, piece
        cdef int64_t price = 0
        cdef bint missing
        found.strain = found.price = found.members = 0
        self.count = 0
        self.spent += 1
        if not self.domain.admitted[shape, node] or self.closed[node] == self.step:
            return found
        if self.domain.tokens and self.domain.beside(shape, node) < members:
            return found
        missing = self.misses(shape, node, members)
        while missing:
            piece = self.most_useful(node, &price)
            if piece < 0:
                found.strain = found.price = 0
                return found
            self.needed[self.count] = self.domain.piece_unit[piece]
            self.count += 1
            found.strain += price // STRAIN
            found.price += price % STRAIN
            missing = False
            for r in range(self.domain.resources):
                self.missing[r] = max(0, self.missing[r] - self.domain.piece_room[piece, r])
                missing = missing or self.missing[r] > 0
        found.members = members
        return found

    cdef bint misses(self, Py_ssize_t shape, Py_ssize_t node, int64_t members) noexcept nogil:
        """Whether room is missing for so many more members; how much, into `missing`."""
        cdef Py_ssize_t r
        cdef int64_t request
        cdef bint any_ = False
        for r in range(self.domain.resources):
            request = self.domain.requests[shape, r]
            self.missing[r] = max(0, members * request - self.domain.room[node, r]) if request > 0 else 0
            any_ = any_ or self.missing[r] > 0
        return any_

    cdef Py_ssize_t most_useful(self, Py_ssize_t node, int64_t* price) noexcept nogil:
        """The piece on the node that frees most of what is missing for its unit's price; -1 if none helps."""
        cdef Py_ssize_t r, k, i, piece, unit, best = -1
        cdef Py_ssize_t first = self.domain.node_pieces[node], end = self.domain.node_pieces[node + 1]
        cdef Py_ssize_t resources = self.domain.resources
        cdef int64_t gain, cost, best_gain = 0
        cdef int64_t* missing = &self.missing[0]
        cdef const int64_t* room
        self.spent += end - first
        for k in range(first, end):
            piece = self.domain.node_piece[k]
            unit = self.domain.piece_unit[piece]
            if self.domain.gone[unit] or self.spared[unit] == self.step:
                continue
            if self.domain.unit_priority[unit] > self.ceiling:
                continue
            gain = 0
            room = &self.domain.piece_room[piece, 0]
            for r in range(resources):
                if missing[r] > 0:
                    gain += GAIN if room[r] >= missing[r] else room[r] * GAIN // missing[r]
            for i in range(self.count):
                if self.needed[i] == unit:
                    gain = 0
            if gain <= 0:
                continue
            cost = self.price(unit)
            if best < 0 or gain * price[0] > best_gain * cost:
                best, best_gain, price[0] = piece, gain, cost
        return best

    cdef int64_t price(self, Py_ssize_t unit) noexcept nogil:
        """What it costs that the unit goes too: its priority and pods, and STRAIN for each violation."""
        cdef int64_t pods = min(<int64_t>self.domain.unit_pods[unit], MOST_PODS)
        cdef int64_t cost = self.domain.unit_priority[unit] + WEIGHT + pods * POD_WEIGHT
        if self.shared:
            cost = cost // (self.domain.unit_pieces[unit + 1] - self.domain.unit_pieces[unit])
        if self.domain.budgets:
            cost += min(self.domain.strain(unit, 1), MOST_STRAIN) * STRAIN
        return cost
