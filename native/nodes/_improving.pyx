# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""Makes a plan better in small steps, by a local search with a falling temperature.

A step lets some victims stay, moves the members that are then in the way, and puts back whoever can stay.
A step that makes the plan worse is kept at times, less and less often as the work is spent. All of it is
integers with a fixed seed, and the work is counted, so the answer is the same on every machine.
The plain twin is tests/twins/nodes/improving.py. See docs/decisions/0061.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t

from native.nodes._changes cimport Changes
from native.nodes._domain cimport Domain, Score, less
from native.nodes._needs cimport Need


cdef int64_t WEIGHT = 1 << 31

# What a step that makes the plan worse counts, and how much of it is borne at first.
cdef int64_t WORSE_VIOLATION = 8192
cdef int64_t WORSE_UNIT = 1024
cdef int64_t SEEKING = 4  # a unit counts that much less while fewer violations are sought
# While they are sought at any cut-off, a violation too much is borne as well: with each group on many nodes,
# most steps to fewer violations lead over more of them.
cdef int64_t ROAMING_VIOLATION = 256
cdef int64_t ROAMING_UNIT = 64
cdef int64_t WORSE_PRIORITY = 128
cdef int64_t WORSE_POD = 16
cdef int64_t WARMTH = 256

cdef Py_ssize_t LOOKED = 64
cdef Py_ssize_t LOWERED = 8  # how many plans with a lower cut-off are tried
cdef int64_t STEP = 16  # the work of a step that changes nothing
cdef uint64_t SEED = 88172645463325252
cdef uint64_t FACTOR = 2685821657736338717


cdef class Improver(Changes):

    def __init__(self, Domain domain, problem):
        nodes, units = len(problem.free), len(problem.unit_priority)
        super().__init__(domain, problem)
        self.best_victims = np.zeros(units, np.int32)
        self.best_placed = np.zeros((domain.shapes, nodes), np.int32)
        self.looked = np.zeros(max(nodes, LOOKED), np.int32)

    cdef void begin(self, int32_t* victims, Py_ssize_t count, int32_t[:, ::1] placement) noexcept nogil:
        """Exactly these victims are gone, and the members are placed so."""
        cdef Py_ssize_t i
        self.random = SEED
        self.count = self.logged = 0
        for i in range(self.domain.count):
            if self.domain.gone[self.domain.units[i]]:
                self.domain.put_back(self.domain.units[i])
            self.place[self.domain.units[i]] = -1
        for i in range(count):
            self.take(victims[i])
            self.logged = 0
        self.domain.assume(placement)
        self.needs.forget()
        self.now = self.domain.score(&self.victims[0], self.count)
        self.keep()

    cdef bint improve(self, int64_t work, int64_t ceiling, int64_t enough) noexcept nogil:
        """Until the work is spent, or no more violations are left than are enough; whether that is so.

        No unit above the ceiling is taken.
        """
        cdef int64_t low = self.domain.unit_priority[self.domain.units[self.domain.count - 1]]
        self.whole = self.left = work
        self.weigh(ceiling, enough)
        self.needs.ceiling = ceiling
        self.span = max(1, min(ceiling, self.domain.unit_priority[self.domain.units[0]]) - low + 1)
        while self.left > 0 and self.best.violations > enough and not self.reached:
            self.step()
        return self.best.violations <= enough

    cdef void weigh(self, int64_t ceiling, int64_t enough) noexcept nogil:
        """What a violation and a unit more count."""
        self.violation, self.unit = WORSE_VIOLATION, WORSE_UNIT
        if enough >= 0:
            self.unit = WORSE_UNIT // SEEKING
            if ceiling >= self.domain.unit_priority[self.domain.units[0]]:
                self.violation, self.unit = ROAMING_VIOLATION, ROAMING_UNIT

    cdef bint lower(self, int64_t ceiling) noexcept nogil:
        """The best of some plans in which all units above the ceiling stay; False if none is found.

        `left` is then minus the work.
        """
        cdef Py_ssize_t _i, i
        cdef bint found = False
        self.needs.ceiling = ceiling
        self.left = 0
        for _i in range(LOWERED):
            self.prepare()
            i = 0
            while i < self.count:
                if self.domain.unit_priority[self.victims[i]] > ceiling:
                    self.spare(self.victims[i])
                else:
                    i += 1
            if self.recreate():
                self.reprieve()
                if self.count:
                    self.now = self.domain.score(&self.victims[0], self.count)
                    if not found or less(&self.now, &self.best):
                        found = True
                        self.keep()
            self.undo()
        return found

    cdef void keep(self) noexcept nogil:
        cdef Py_ssize_t i, shape
        self.best, self.best_count = self.now, self.count
        self.reached = self.has_floor and not less(&self.floor, &self.now)
        for i in range(self.count):
            self.best_victims[i] = self.victims[i]
        for shape in range(self.domain.shapes):
            for i in range(self.domain.first, self.domain.end):
                self.best_placed[shape, i] = self.domain.placed[shape, i]
        self.left -= self.count + self.domain.shapes * (self.domain.end - self.domain.first)

    cdef uint64_t draw(self, uint64_t below) noexcept nogil:
        """A number from 0 to below - 1 (xorshift64*)."""
        self.random ^= self.random >> 12
        self.random ^= self.random << 25
        self.random ^= self.random >> 27
        return ((self.random * FACTOR) >> 33) % below

    # ---- one step

    cdef void prepare(self) noexcept nogil:
        """Nobody is spared yet, no node is closed, and no member lacks a node."""
        self.needs.step += 1
        self.logged = 0
        self.lacking[:] = 0
        self.needs.shared, self.needs.batches = self.draw(2), self.draw(2)
        self.left -= STEP

    cdef void step(self) noexcept nogil:
        cdef Score score
        cdef Py_ssize_t i
        self.prepare()
        self.ruin()
        if not self.recreate():
            self.undo()
            return
        self.reprieve()
        if self.count == 0:
            self.undo()
            return
        score = self.domain.score(&self.victims[0], self.count)
        if not self.bears(&score):
            self.undo()
            return
        self.now = score
        for i in range(self.logged):
            # What is remembered of their nodes leaves them out.
            if self.log_unit[i] >= 0 and self.needs.spared[self.log_unit[i]] == self.needs.step:
                self.touch(self.log_unit[i])
        self.needs.settle()
        if less(&score, &self.best):
            self.keep()

    cdef bint bears(self, Score* score) noexcept nogil:
        """Whether a plan this much worse is accepted: at times while much work is left, never in the end."""
        cdef int64_t units = score.units - self.now.units
        cdef int64_t priorities = score.priorities - self.now.priorities - units * WEIGHT
        cdef int64_t worse = self.violation * (score.violations - self.now.violations) + self.unit * units
        worse += WORSE_POD * (score.pods - self.now.pods) + priorities * WORSE_PRIORITY // self.span
        if worse <= 0:
            return True
        worse = worse * self.whole // (max(1, self.left) * WARMTH)
        return worse < 30 and self.draw(<uint64_t>1 << worse) == 0

    cdef void ruin(self) noexcept nogil:
        """One to four victims stay, or the members leave one or two nodes."""
        cdef Py_ssize_t _i, unit, many = 1 + self.draw(min(4, self.count))
        cdef Py_ssize_t first = self.victims[self.draw(self.count)]
        cdef uint64_t way = self.draw(4)
        if way == 0:
            self.empty_nodes((many + 1) // 2)
            return
        self.spare(first)
        for _i in range(many - 1):
            if self.count == 0:
                break
            unit = self.unit_on(self.node_of(first)) if way == 1 else self.victims[self.draw(self.count)]
            if self.place[unit] >= 0:
                self.spare(unit)
        if self.draw(2):
            self.reprieve()

    cdef void empty_nodes(self, Py_ssize_t many) noexcept nogil:
        """The members leave some nodes, and some unit goes instead: its nodes may take them all."""
        cdef Py_ssize_t _i, node, unit
        for _i in range(many):
            node = self.node_of(self.victims[self.draw(self.count)])
            self.needs.closed[node] = self.needs.step
            self.displace(node, -1)
        self.reprieve()
        unit = self.domain.units[self.draw(self.domain.count)]
        if self.place[unit] < 0 and self.domain.unit_priority[unit] <= self.needs.ceiling:
            self.take(unit)

    cdef void spare(self, Py_ssize_t unit) noexcept nogil:
        """The victim stays, whoever is in its way."""
        cdef Py_ssize_t piece, node
        self.needs.spared[unit] = self.needs.step
        for piece in range(self.domain.unit_pieces[unit], self.domain.unit_pieces[unit + 1]):
            node = self.domain.piece_node[piece]
            if self.domain.first <= node < self.domain.end:
                self.displace(node, piece)
        self.put_back(unit)

    cdef void displace(self, Py_ssize_t node, Py_ssize_t piece) noexcept nogil:
        """Members leave the node until the piece could be put back (-1: all); a random shape is first."""
        cdef Py_ssize_t i, shape, first = self.draw(self.domain.shapes)
        for i in range(self.domain.shapes):
            shape = (first + i) % self.domain.shapes
            while self.domain.placed[shape, node] and (piece < 0 or not self.domain.keeps(node, piece)):
                self.add(shape, node, -1)

    cdef Py_ssize_t node_of(self, Py_ssize_t unit) noexcept nogil:
        """A random node of the domain on which the unit has a piece."""
        cdef Py_ssize_t first = self.domain.unit_pieces[unit]
        cdef Py_ssize_t pieces = self.domain.unit_pieces[unit + 1] - first
        cdef Py_ssize_t k = self.draw(pieces)
        while not (self.domain.first <= self.domain.piece_node[first + k] < self.domain.end):
            k = (k + 1) % pieces
        return self.domain.piece_node[first + k]

    cdef Py_ssize_t unit_on(self, Py_ssize_t node) noexcept nogil:
        """A random unit with a piece on the node."""
        cdef Py_ssize_t first = self.domain.node_pieces[node]
        cdef Py_ssize_t k = first + self.draw(self.domain.node_pieces[node + 1] - first)
        return self.domain.piece_unit[self.domain.node_piece[k]]

    cdef void reprieve(self) noexcept nogil:
        """Victims that can stay do, in the order of the list from a random one on."""
        cdef Py_ssize_t i, _k, most = self.count
        self.left -= 2 * most
        if most == 0:
            return
        i = self.draw(most)
        for _k in range(most):
            if i >= self.count:
                i = 0
            if self.count == 0:
                return
            if self.domain.can_stay(self.victims[i]):
                self.put_back(self.victims[i])
            else:
                i += 1

    # ---- members that have no node

    cdef bint recreate(self) noexcept nogil:
        cdef Py_ssize_t i, shape, first = self.draw(self.domain.shapes)
        for i in range(self.domain.shapes):
            shape = (first + i) % self.domain.shapes
            if self.lacking[shape] and not self.recreate_shape(shape):
                return False
        return True

    cdef bint recreate_shape(self, Py_ssize_t shape) noexcept nogil:
        cdef Py_ssize_t node
        cdef Need found
        self.look()
        while self.lacking[shape]:
            found = self.cheapest(shape, &node)
            if node < 0:
                return False
            self.commit(shape, node, found.members)
        return True

    cdef void look(self) noexcept nogil:
        """Choose the nodes that this step looks at: all of a small domain, some of a large one."""
        cdef Py_ssize_t i, nodes = self.domain.end - self.domain.first
        self.looks = min(nodes, LOOKED)
        for i in range(self.looks):
            self.looked[i] = <int32_t>(self.domain.first + (i if nodes <= LOOKED else self.draw(nodes)))

    cdef Need cheapest(self, Py_ssize_t shape, Py_ssize_t* best) noexcept nogil:
        """The node that costs least for each member, nearly always: some are passed over by chance."""
        cdef Py_ssize_t i, node
        cdef Need one, least
        least.strain = least.price = least.members = 0
        best[0] = -1
        self.left -= self.looks // 4
        self.needs.spent = 0
        for i in range(self.looks):
            node = self.looked[i]
            one = self.needs.least(shape, node, self.lacking[shape])
            if one.members == 0:
                continue
            if best[0] >= 0:
                if self.draw(16) == 0 or one.strain * least.members > least.strain * one.members:
                    continue
                if one.strain * least.members == least.strain * one.members:
                    if one.price * least.members > least.price * one.members:
                        continue
                    if one.price * least.members == least.price * one.members and self.draw(2):
                        continue
            best[0], least = node, one
        self.left -= self.needs.spent
        return least

    cdef void commit(self, Py_ssize_t shape, Py_ssize_t node, int64_t members) noexcept nogil:
        """Place the members, and take the units that are evicted for them."""
        cdef Py_ssize_t i
        self.needs.spent = 0
        self.needs.list_candidates(node)
        self.needs.of(shape, node, members)
        self.left -= self.needs.spent
        for i in range(self.needs.count):
            self.take(self.needs.needed[i])
        self.add(shape, node, <int32_t>members)

    # ---- the plan

    cdef void finish(self) noexcept nogil:
        """Exchange victims for units of lower priority on their nodes, while that makes the plan better."""
        cdef Py_ssize_t i
        cdef bint better = True
        while better:
            better = False
            i = 0
            while i < self.count:
                if self.exchange(self.victims[i]):
                    better = True
                else:
                    i += 1
        self.keep()

    cdef bint exchange(self, Py_ssize_t unit) noexcept nogil:
        cdef Py_ssize_t k, other, node = self.short_of(unit)
        cdef Score score
        for k in range(self.domain.node_pieces[node], self.domain.node_pieces[node + 1]):
            other = self.domain.piece_unit[self.domain.node_piece[k]]
            if self.place[other] >= 0 or self.domain.unit_priority[other] >= self.domain.unit_priority[unit]:
                continue
            self.logged = 0
            self.take(other)
            if self.domain.can_stay(unit):
                self.put_back(unit)
                score = self.domain.score(&self.victims[0], self.count)
                if less(&score, &self.now):
                    self.reprieve()
                    self.now = self.domain.score(&self.victims[0], self.count)
                    return True
            self.undo()
        return False

    cdef Py_ssize_t short_of(self, Py_ssize_t unit) noexcept nogil:
        """The first node on which the victim cannot stay."""
        cdef Py_ssize_t piece, node = self.domain.first
        for piece in range(self.domain.unit_pieces[unit], self.domain.unit_pieces[unit + 1]):
            node = self.domain.piece_node[piece]
            if self.domain.first <= node < self.domain.end and not self.domain.keeps(node, piece):
                return node
        return node
