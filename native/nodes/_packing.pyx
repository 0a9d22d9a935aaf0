# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""Does the preemptor fit in the room there is, and where: exact, or SPENT.

The plain twin is tests/twins/nodes/packing.py.
"""

import numpy as np

from libc.stdlib cimport free, malloc
from libc.string cimport memset

from native.codes cimport FEASIBLE, INFEASIBLE, SPENT


cdef int64_t SHARES = 10 ** 6


cdef class Packer:

    def __init__(self, Domain domain, int64_t budget):
        self.domain = domain
        self.budget = budget
        self.answer = np.zeros((domain.shapes, len(domain.room)), np.int32)
        self.order = np.zeros(domain.shapes, np.int32)
        self.rarer = np.zeros(domain.shapes, np.int32)
        self.steps = 0
        self.strides = np.zeros(domain.shapes, np.int64)
        self.volume = np.zeros(domain.resources, np.int64)

    cdef int pack(self) noexcept nogil:
        """First bounds, then some orders of the shapes, then all packings as far as the budget goes."""
        if not self.hardest_first():
            return INFEASIBLE
        if self.first_fit():
            return FEASIBLE
        if self.ordered > 1:
            if not self.has_volume():
                return INFEASIBLE
            self.largest_first()
            if self.first_fit() or self.tightest_fit():
                return FEASIBLE
        return self.search_table()

    cdef bint first_fit(self) noexcept nogil:
        """Shape after shape in the order, node after node."""
        cdef Py_ssize_t i, shape, node
        cdef int64_t left, members
        for i in range(self.ordered):
            shape = self.order[i]
            left = self.domain.counts[shape]
            for node in range(self.domain.first, self.domain.end):
                if left == 0:
                    break
                members = min(left, self.domain.capacity(shape, node))
                if members:
                    self.domain.add(shape, node, members)
                    left -= members
            if left:
                self.domain.clear()
                return False
        self.keep()
        return True

    cdef bint tightest_fit(self) noexcept nogil:
        """Shape after shape in the order, the node with room for the fewest members first."""
        cdef Py_ssize_t i, shape, node, best
        cdef int64_t left, members, fewest
        for i in range(self.ordered):
            shape = self.order[i]
            left = self.domain.counts[shape]
            while left:
                best, fewest = -1, 0
                for node in range(self.domain.first, self.domain.end):
                    members = self.domain.capacity(shape, node)
                    if members and (best < 0 or members < fewest):
                        best, fewest = node, members
                if best < 0:
                    self.domain.clear()
                    return False
                self.domain.add(shape, best, min(left, fewest))
                left -= min(left, fewest)
        self.keep()
        return True

    cdef bint has_volume(self) noexcept nogil:
        """Whether the free room in sum is enough for all members, by resource; `volume` is what there is."""
        cdef Py_ssize_t r, shape, node
        cdef int64_t wanted
        for r in range(self.domain.resources):
            self.volume[r] = wanted = 0
            for node in range(self.domain.first, self.domain.end):
                self.volume[r] += max(0, self.domain.room[node, r])
            for shape in range(self.domain.shapes):
                wanted += self.domain.counts[shape] * self.domain.requests[shape, r]
            if wanted > self.volume[r]:
                return False
        return True

    cdef void largest_first(self) noexcept nogil:
        """Shapes by the largest share of a resource that one member takes of all that is free."""
        cdef Py_ssize_t i, k, r
        cdef int64_t share
        cdef int32_t shape
        for i in range(self.ordered):
            shape, share = self.order[i], 0
            for r in range(self.domain.resources):
                share = max(share, self.domain.requests[shape, r] * SHARES // max(1, self.volume[r]))
            k = i
            while k > 0 and self.strides[k - 1] < share:
                self.strides[k], self.order[k] = self.strides[k - 1], self.order[k - 1]
                k -= 1
            self.strides[k], self.order[k] = share, shape

    cdef void keep(self) noexcept nogil:
        cdef Py_ssize_t shape, node
        for shape in range(self.domain.shapes):
            for node in range(self.domain.first, self.domain.end):
                self.answer[shape, node] = self.domain.placed[shape, node]
        self.domain.clear()

    cdef bint hardest_first(self) noexcept nogil:
        """Shapes by how often their members would find room; False if one does not fit even alone."""
        cdef Py_ssize_t shape, node, i
        cdef int64_t places, slack
        self.ordered = 0
        for shape in range(self.domain.shapes):
            if self.domain.counts[shape] == 0:
                continue
            places = 0
            for node in range(self.domain.first, self.domain.end):
                places += self.domain.capacity(shape, node)
            if places < self.domain.counts[shape]:
                return False
            slack = places * 1000 // self.domain.counts[shape]
            i = self.ordered
            while i > 0 and self.strides[i - 1] > slack:
                self.strides[i], self.order[i] = self.strides[i - 1], self.order[i - 1]
                i -= 1
            self.strides[i], self.order[i] = slack, <int32_t>shape
            self.ordered += 1
        return True

    # ---- exact, for several shapes

    cdef int search_table(self) noexcept nogil:
        """Node by node, for each way to place the rarer shapes so far: the most of the last beside them."""
        cdef int status = SPENT
        cdef Py_ssize_t nodes = self.domain.end - self.domain.first
        if not self.lay_out():
            return SPENT
        self.table = <int32_t*>malloc(self.cells * sizeof(int32_t))
        self.grown = <int32_t*>malloc(self.cells * sizeof(int32_t))
        self.choices = <int32_t*>malloc(nodes * self.cells * sizeof(int32_t))
        if self.table != NULL and self.grown != NULL and self.choices != NULL:
            status = self.fill()
        free(self.table)
        free(self.grown)
        free(self.choices)
        return status

    cdef bint lay_out(self) noexcept nogil:
        """The commonest shape is the table's value, the others its dimensions; False if it is too large."""
        cdef Py_ssize_t shape, i
        self.dimensions = 0
        for shape in range(self.domain.shapes):
            if self.domain.counts[shape] == 0:
                continue
            i = self.dimensions
            while i > 0 and self.domain.counts[self.rarer[i - 1]] > self.domain.counts[shape]:
                self.rarer[i] = self.rarer[i - 1]
                i -= 1
            self.rarer[i] = <int32_t>shape
            self.dimensions += 1
        self.dimensions -= 1
        self.last = self.rarer[self.dimensions]
        self.most = self.domain.counts[self.last]
        self.cells = 1
        for i in range(self.dimensions):
            self.strides[i] = self.cells
            self.cells *= self.domain.counts[self.rarer[i]] + 1
            if self.cells > 2 and self.cells > self.budget:
                return False
        return self.cells <= 2 or self.cells * (self.domain.end - self.domain.first) <= self.budget

    cdef int fill(self) noexcept nogil:
        cdef Py_ssize_t node
        cdef int32_t* choice
        memset(self.table, 0xff, self.cells * sizeof(int32_t))
        self.table[0] = 0
        self.spent = 0
        for node in range(self.domain.first, self.domain.end):
            choice = self.choices + (node - self.domain.first) * self.cells
            memset(self.grown, 0xff, self.cells * sizeof(int32_t))
            memset(choice, 0, self.cells * sizeof(int32_t))
            if not self.packings(node, 0, 0, choice):
                self.domain.clear()
                return SPENT
            self.table, self.grown = self.grown, self.table
            if self.table[self.cells - 1] == self.most:
                self.trace(node)
                return FEASIBLE
        return INFEASIBLE

    cdef bint packings(self, Py_ssize_t node, Py_ssize_t depth, int64_t offset, int32_t* way) noexcept nogil:
        """Every way to place members of the rarer shapes on one node; False when the budget is spent."""
        cdef Py_ssize_t shape
        cdef int64_t members, most
        if depth == self.dimensions:
            self.spent += self.cells
            self.steps += self.cells
            if self.cells > 2 and self.spent > self.budget:
                return False
            self.extend(node, offset, way)
            return True
        shape = self.rarer[depth]
        most = min(<int64_t>self.domain.counts[shape], self.domain.capacity(shape, node))
        for members in range(most + 1):
            self.domain.add(shape, node, members)
            if not self.packings(node, depth + 1, offset + members * self.strides[depth], way):
                return False
            self.domain.add(shape, node, -members)
        return True

    cdef void extend(self, Py_ssize_t node, int64_t offset, int32_t* choice) noexcept nogil:
        """Every cell that this packing of the node leads to."""
        cdef int64_t members = self.domain.capacity(self.last, node)
        cdef int64_t cell, value, size
        cdef Py_ssize_t i
        cdef bint contained
        for cell in range(offset, self.cells):
            if self.table[cell - offset] < 0:
                continue
            value = min(self.most, self.table[cell - offset] + members)
            if value <= self.grown[cell]:
                continue
            contained = True
            for i in range(self.dimensions):
                size = self.domain.counts[self.rarer[i]] + 1
                if cell // self.strides[i] % size < offset // self.strides[i] % size:
                    contained = False
                    break
            if contained:
                self.grown[cell] = <int32_t>value
                choice[cell] = <int32_t>offset

    cdef void trace(self, Py_ssize_t node) noexcept nogil:
        """Walk back from the full cell and place what each node was given."""
        cdef int64_t cell = self.cells - 1, left = self.most, offset, members
        cdef Py_ssize_t i, shape
        while node >= self.domain.first:
            offset = self.choices[(node - self.domain.first) * self.cells + cell]
            for i in range(self.dimensions):
                shape = self.rarer[i]
                members = offset // self.strides[i] % (self.domain.counts[shape] + 1)
                if members:
                    self.domain.add(shape, node, members)
            members = min(left, self.domain.capacity(self.last, node))
            if members:
                self.domain.add(self.last, node, members)
            left -= members
            cell -= offset
            node -= 1
        self.keep()
