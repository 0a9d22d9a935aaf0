# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""Which units are evicted for more members on a node, for the steps of the local search.

The answers are remembered until the node changes. Each change gives the node another state, and an undone
change gives it back the state that it had before, so two answers are remembered: that of before the step and
one of within it. Draws on budgets change prices everywhere. So where there are budgets, the same units are
counted again, and others are looked for only if they have become dearer, or now and then, once in a step.
The plain twin is tests/twins/nodes/needs.py.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t

from native.nodes._domain cimport Domain


cdef int64_t WEIGHT = 1 << 31
cdef int64_t POD_WEIGHT = 1 << 22  # for the price of a unit: a pod is a small part of a unit
cdef int64_t STRAIN = 1 << 40
cdef int64_t GAIN = 1024
cdef int64_t MOST_PODS = 1 << 16  # so that products fit into 64 bits
cdef int64_t MOST_STRAIN = 255
cdef int64_t BATCH = 8
cdef Py_ssize_t PIECES = 64  # as many as `Memory.pieces` has bits
cdef int64_t REFRESH = 8  # in one of REFRESH steps, a node that violates budgets is looked at anew, once

NEED = np.dtype([(name, np.int64) for name in ("strain", "price", "members")])
MEMORY = np.dtype(
    [("need", NEED), ("state", np.int64), ("most", np.int64), ("step", np.int64), ("pieces", np.uint64)]
)


cdef class Needs:

    def __init__(self, Domain domain, problem):
        nodes, units = len(problem.free), len(problem.unit_priority)
        self.domain = domain
        self.needed = np.zeros(units, np.int32)
        widest = int(np.diff(problem.node_pieces).max()) if nodes else 0
        self.place, self.piece = np.zeros(widest, np.int32), np.zeros(widest, np.int32)
        self.price, self.goes = np.zeros(widest, np.int64), np.zeros(widest, np.uint8)
        self.spared, self.closed = np.zeros(units, np.int64), np.zeros(nodes, np.int64)
        self.missing, self.emptied = (np.zeros(domain.resources, np.int64) for _ in range(2))
        self.step = self.states = 0
        self.state, self.base = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
        self.touched = np.zeros(nodes, np.int32)
        self.memory = np.zeros((domain.shapes, nodes, 4, 2), MEMORY)

    # ---- what is remembered

    cdef void forget(self) noexcept nogil:
        """Nothing that was remembered counts any longer."""
        cdef Py_ssize_t node
        self.states += 1
        self.touches = 0
        for node in range(self.domain.first, self.domain.end):
            self.state[node] = self.base[node] = self.states

    cdef void touch(self, Py_ssize_t node) noexcept nogil:
        """The room on the node has changed, or who is there."""
        if self.state[node] == self.base[node]:
            self.touched[self.touches] = <int32_t>node
            self.touches += 1
        self.states += 1
        self.state[node] = self.states

    cdef void restore(self) noexcept nogil:
        """All nodes are as they were before the step."""
        cdef Py_ssize_t i
        for i in range(self.touches):
            self.state[self.touched[i]] = self.base[self.touched[i]]
        self.touches = 0

    cdef void settle(self) noexcept nogil:
        """The step is kept."""
        cdef Py_ssize_t i
        for i in range(self.touches):
            self.base[self.touched[i]] = self.state[self.touched[i]]
        self.touches = 0

    cdef Need least(self, Py_ssize_t shape, Py_ssize_t node, int64_t most) noexcept nogil:
        """What the node needs for one member; in batches: for as many as are cheapest. 0 members: no room."""
        cdef Memory* found
        cdef Py_ssize_t i, way = 2 * self.shared + self.batches
        cdef Need none
        none.strain = none.price = none.members = 0
        if not self.domain.admitted[shape, node] or self.closed[node] == self.step:
            return none
        if not self.batches:
            most = 1
        elif most > BATCH:
            most = BATCH
        for i in range(2):
            found = &self.memory[shape, node, way, i]
            if found.state == self.state[node] and self.recalls(found, node, most):
                return found.need
        found = &self.memory[shape, node, way, 0]
        if self.state[node] != self.base[node] and found.state == self.base[node]:
            found = &self.memory[shape, node, way, 1]
        found[0] = self.weigh(shape, node, most)
        return found.need

    cdef bint recalls(self, Memory* memory, Py_ssize_t node, int64_t most) noexcept nogil:
        """Whether what is remembered counts for `most` members. Budgets may have been drawn on since."""
        cdef int64_t strain
        if memory.need.members == 0:
            return True
        if memory.need.members > most or memory.most < most:
            return False
        if self.domain.budgets:
            if self.domain.node_pieces[node + 1] - self.domain.node_pieces[node] > PIECES:
                return False
            if memory.need.strain and memory.step != self.step and (self.step + node) % REFRESH == 0:
                return False
            strain = self.strain(memory, node)
            if strain > memory.need.strain:
                return False
            memory.need.strain = strain
        return True

    cdef int64_t strain(self, Memory* memory, Py_ssize_t node) noexcept nogil:
        """How many violations it costs now that the remembered units go."""
        cdef uint64_t rest = memory.pieces
        cdef int64_t strain = 0
        cdef Py_ssize_t unit, k = self.domain.node_pieces[node]
        while rest:
            if rest & 1:
                unit = self.domain.piece_unit[self.domain.node_piece[k]]
                strain += min(self.domain.strain(unit, 1), MOST_STRAIN)
                self.spent += 1
            rest >>= 1
            k += 1
        return strain

    cdef Memory weigh(self, Py_ssize_t shape, Py_ssize_t node, int64_t most) noexcept nogil:
        """What the node needs for as many members as are cheapest together, at most `most`."""
        cdef Memory found
        cdef Need one
        cdef int64_t members, possible
        self.list_candidates(node)
        found.state, found.most, found.step = self.state[node], most, self.step
        found.need.strain = found.need.price = found.need.members = 0
        found.pieces = 0
        possible = self.possible(shape, node)
        if possible < 1:
            return found
        found.need = self.of(shape, node, 1)
        found.pieces = self.pieces
        if found.need.members == 0:
            return found
        if possible <= most:
            most, found.most = possible, BATCH
        for members in range(2, most + 1):
            one = self.of(shape, node, members)
            if one.members == 0:
                found.most = BATCH
                break
            if one.strain * found.need.members > found.need.strain * members:
                continue
            if one.strain * found.need.members == found.need.strain * members:
                if one.price * found.need.members > found.need.price * members:
                    continue
            found.need, found.pieces = one, self.pieces
        return found

    # ---- what is needed

    cdef void list_candidates(self, Py_ssize_t node) noexcept nogil:
        """The units on the node that could be evicted, and their costs. `emptied`: the room without them."""
        cdef Py_ssize_t k, r, piece, unit, first = self.domain.node_pieces[node]
        cdef Py_ssize_t end = self.domain.node_pieces[node + 1]
        self.spent += end - first
        self.candidates = 0
        for r in range(self.domain.resources):
            self.emptied[r] = self.domain.room[node, r]
        for k in range(first, end):
            piece = self.domain.node_piece[k]
            unit = self.domain.piece_unit[piece]
            if self.domain.gone[unit] or self.spared[unit] == self.step:
                continue
            if self.domain.unit_priority[unit] > self.ceiling:
                continue
            self.place[self.candidates], self.piece[self.candidates] = <int32_t>(k - first), <int32_t>piece
            self.price[self.candidates] = self.price_of(unit)
            self.candidates += 1
            for r in range(self.domain.resources):
                self.emptied[r] += self.domain.piece_room[piece, r]
        self.spent += self.candidates

    cdef int64_t possible(self, Py_ssize_t shape, Py_ssize_t node) noexcept nogil:
        """How many more members the room lets be on the node with all its candidates gone, at most BATCH."""
        cdef Py_ssize_t r
        cdef int64_t request, most = BATCH
        for r in range(self.domain.resources):
            request = self.domain.requests[shape, r]
            if request > 0:
                most = min(most, self.emptied[r] // request)
        return most

    cdef Need of(self, Py_ssize_t shape, Py_ssize_t node, int64_t members) noexcept nogil:
        """The victims for this number of further members on the node, into `needed`. 0 members: no room.

        The candidates of the node are listed.
        """
        cdef Need found
        cdef Py_ssize_t i, piece
        found.strain = found.price = found.members = 0
        self.count = 0
        self.pieces = 0
        self.spent += 1
        if self.domain.tokens and self.domain.beside(shape, node) < members:
            return found
        for i in range(self.candidates):
            self.goes[i] = 0
        while self.misses(shape, node, members):
            i = self.most_useful()
            if i < 0:
                found.strain = found.price = 0
                return found
            piece = self.piece[i]
            self.goes[i], self.last = 1, piece
            self.needed[self.count] = self.domain.piece_unit[piece]
            self.count += 1
            if self.place[i] < PIECES:
                self.pieces |= <uint64_t>1 << self.place[i]
            found.strain += self.price[i] // STRAIN
            found.price += self.price[i] % STRAIN
        found.members = members
        return found

    cdef bint misses(self, Py_ssize_t shape, Py_ssize_t node, int64_t members) noexcept nogil:
        """Whether room is missing for this number of further members; how much, into `missing`."""
        cdef Py_ssize_t r
        cdef int64_t request
        cdef bint any_ = False
        for r in range(self.domain.resources):
            if self.count:
                self.missing[r] = max(0, self.missing[r] - self.domain.piece_room[self.last, r])
            else:
                request = self.domain.requests[shape, r]
                self.missing[r] = max(0, members * request - self.domain.room[node, r]) if request > 0 else 0
            any_ = any_ or self.missing[r] > 0
        return any_

    cdef Py_ssize_t most_useful(self) noexcept nogil:
        """The candidate that frees most of what is missing for its unit's price; -1 if none helps."""
        cdef Py_ssize_t r, i, best = -1, resources = self.domain.resources
        cdef int64_t gain, best_gain = 0
        cdef int64_t* missing = &self.missing[0]
        cdef const int64_t* room
        self.spent += self.candidates
        for i in range(self.candidates):
            if self.goes[i]:
                continue
            gain = 0
            room = &self.domain.piece_room[self.piece[i], 0]
            for r in range(resources):
                if missing[r] > 0:
                    gain += GAIN if room[r] >= missing[r] else room[r] * GAIN // missing[r]
            if gain <= 0:
                continue
            if best < 0 or gain * self.price[best] > best_gain * self.price[i]:
                best, best_gain = i, gain
        return best

    cdef int64_t price_of(self, Py_ssize_t unit) noexcept nogil:
        """What it costs that the unit goes too: its priority and pods, and STRAIN for each violation."""
        cdef int64_t pods = min(<int64_t>self.domain.unit_pods[unit], MOST_PODS)
        cdef int64_t cost = self.domain.unit_priority[unit] + WEIGHT + pods * POD_WEIGHT
        if self.shared:
            cost = cost // (self.domain.unit_pieces[unit + 1] - self.domain.unit_pieces[unit])
        if self.domain.budgets:
            cost += min(self.domain.strain(unit, 1), MOST_STRAIN) * STRAIN
        return cost
