# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""Units that go or stay, and members that come or leave, for the local search: each can be undone.

The plain twin is tests/twins/nodes/improving.py.
"""

import numpy as np

from libc.stdint cimport int32_t

from native.nodes._domain cimport Domain
from native.nodes._needs cimport Needs


cdef class Changes:

    def __init__(self, Domain domain, problem):
        units = len(problem.unit_priority)
        # A step takes, spares and puts back each unit at most once, moves each member at most twice.
        longest = 4 * units + 2 * int(problem.counts.sum()) + 1
        self.domain, self.needs = domain, Needs(domain, problem)
        self.victims, self.place = np.empty(units, np.int32), np.full(units, -1, np.int32)
        self.log_unit, self.log_shape = np.empty(longest, np.int32), np.empty(longest, np.int32)
        self.log_node, self.log_members = np.empty(longest, np.int32), np.empty(longest, np.int32)
        self.lacking = np.zeros(domain.shapes, np.int32)

    cdef void take(self, Py_ssize_t unit) noexcept nogil:
        self.domain.take(unit)
        self.place[unit] = <int32_t>self.count
        self.victims[self.count] = <int32_t>unit
        self.count += 1
        self.touch(unit)
        self.log(unit, 0, 0, 1)
        self.left -= 2 + self.domain.unit_pieces[unit + 1] - self.domain.unit_pieces[unit]

    cdef void touch(self, Py_ssize_t unit) noexcept nogil:
        """The unit's nodes have changed."""
        cdef Py_ssize_t piece, node
        for piece in range(self.domain.unit_pieces[unit], self.domain.unit_pieces[unit + 1]):
            node = self.domain.piece_node[piece]
            if self.domain.first <= node < self.domain.end:
                self.needs.touch(node)

    cdef void put_back(self, Py_ssize_t unit) noexcept nogil:
        cdef Py_ssize_t last
        self.domain.put_back(unit)
        self.count -= 1
        last = self.victims[self.count]
        self.victims[self.place[unit]] = <int32_t>last
        self.place[last] = self.place[unit]
        self.place[unit] = -1
        self.touch(unit)
        self.log(unit, 0, 0, -1)
        self.left -= 2 + self.domain.unit_pieces[unit + 1] - self.domain.unit_pieces[unit]

    cdef void add(self, Py_ssize_t shape, Py_ssize_t node, int32_t members) noexcept nogil:
        self.domain.add(shape, node, members)
        self.needs.touch(node)
        self.lacking[shape] -= members
        self.log(-1, shape, node, members)

    cdef void log(
        self, Py_ssize_t unit, Py_ssize_t shape, Py_ssize_t node, int32_t members,
    ) noexcept nogil:
        self.log_unit[self.logged], self.log_members[self.logged] = <int32_t>unit, members
        self.log_shape[self.logged], self.log_node[self.logged] = <int32_t>shape, <int32_t>node
        self.logged += 1

    cdef void undo(self) noexcept nogil:
        cdef Py_ssize_t i, end = self.logged
        for i in range(end - 1, -1, -1):
            self.logged = i + 1
            if self.log_unit[i] < 0:
                self.domain.add(self.log_shape[i], self.log_node[i], -self.log_members[i])
            elif self.log_members[i] > 0:
                self.put_back(self.log_unit[i])
            else:
                self.take(self.log_unit[i])
        self.logged = 0
        self.needs.restore()
