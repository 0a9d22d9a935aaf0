# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""What the best plan in a domain costs at least, so that nobody looks for a better one than the best there is.

It counts for plans without violations, up to the lowest cut-off. A plan's price is the sum of what its nodes
cost. For each node and number of members: the cheapest units that leave the room. A table over the nodes has
the least sum for all members. A unit on several nodes costs its part on each of them, so its whole price is
never exceeded: of such units the floor is seldom reached. Only the room counts: what members forbid one another, and budgets, can make a plan dearer, never
cheaper. See docs/decisions/0095.
"""

import numpy as np


cdef int64_t WEIGHT = 1 << 31
cdef int64_t NEVER = 1 << 62
cdef int64_t NOBODY = -(1 << 62)  # the age where no unit of the cut-off's priority goes
cdef Py_ssize_t CELLS = 1 << 12
cdef int64_t ENTRIES = 1 << 20  # nodes times cells
cdef int64_t WORK = 1 << 22  # sums of two prices, in one table
cdef int64_t CHOICES = 1 << 20  # sets of units that are tried, on all nodes
cdef int64_t CHOICES_EACH = 1 << 12  # the same, for one node and number of members

PRICE = np.dtype([(name, np.int64) for name in ("priorities", "units", "pods", "age")])


cdef bint _cheaper(Price* one, Price* other) noexcept nogil:
    if one.priorities != other.priorities:
        return one.priorities < other.priorities
    if one.units != other.units:
        return one.units < other.units
    if one.pods != other.pods:
        return one.pods < other.pods
    return one.age < other.age


cdef Price _both(Price* one, Price* other) noexcept nogil:
    cdef Price price
    price.priorities = one.priorities + other.priorities
    price.units, price.pods = one.units + other.units, one.pods + other.pods
    price.age = max(one.age, other.age)
    return price


cdef Price _nothing(int64_t priorities) noexcept nogil:
    cdef Price price
    price.priorities, price.units, price.pods, price.age = priorities, 0, 0, NOBODY
    return price


cdef class Floors:

    def __init__(self, Domain domain, problem):
        nodes = int(np.diff(problem.domains).max()) if len(problem.domains) > 1 else 0
        widest = int(np.diff(problem.node_pieces).max()) if len(problem.free) else 0
        self.domain, self.free = domain, problem.free
        self.most_members = max(1, int(problem.counts.sum()))
        self.list_cells(problem)
        self.prices = np.zeros((nodes if self.cells else 0, self.cells), PRICE)
        self.sums, self.possible = np.zeros(self.cells, PRICE), np.zeros(self.cells, np.int32)
        self.units, self.pieces = np.zeros(widest, np.int32), np.zeros(widest, np.int32)
        self.parts = np.ones(widest, np.int64)
        self.running, self.latest = np.zeros(widest + 1, np.int64), np.zeros(widest + 1, np.int64)
        self.largest, self.rest = (np.zeros((widest + 1, domain.resources), np.int64) for _ in range(2))
        self.missing, self.emptied = (np.zeros(domain.resources, np.int64) for _ in range(2))

    cdef list_cells(self, problem):
        """All numbers of members, by shape; none if they are too many."""
        counts = problem.counts.astype(np.int64)
        nodes = int(np.diff(problem.domains).max()) if len(problem.domains) > 1 else 0
        cells = 1
        for count in counts.tolist():
            cells *= count + 1
        fits = cells <= CELLS and cells * nodes <= ENTRIES
        self.cells = cells if fits else 0
        strides = np.cumprod(np.concatenate([[1], counts + 1]))[:len(counts)] if fits else np.ones(len(counts), np.int64)
        members = np.arange(self.cells)[:, None] // strides % (counts + 1)
        self.members = np.ascontiguousarray(members, np.int32)
        self.wanted = np.ascontiguousarray(members @ problem.requests)

    cdef bint find(self, Score* best, Score* floor) noexcept nogil:
        """The floor of the domain that was entered, for plans like the best one: no violations, no lower cut-off.

        No plan costs less than the floor, or else none less than the best. False if nothing is known.
        """
        cdef Price known
        cdef Py_ssize_t node, cell, term
        if not self.cells:
            return False
        known.priorities, known.units, known.pods, known.age = best.priorities, best.units, best.pods, best.age
        self.cutoff, self.steps = best.highest, 0
        for node in range(self.domain.first, self.domain.end):
            self.list_units(node)
            for cell in range(self.cells):
                self.prices[node - self.domain.first, cell] = _nothing(NEVER)
                if self.admits(node, cell):
                    self.lack(node, cell)
                    self.prices[node - self.domain.first, cell] = self.at_least(0, _nothing(0), self.fewest(0))
        if not self.sum_up():
            return False
        if _cheaper(&self.sums[self.cells - 1], &known):
            self.refine(best)
            self.sum_up()
        if not _cheaper(&self.sums[self.cells - 1], &known):
            self.sums[self.cells - 1] = known
        floor.violations, floor.highest = 0, best.highest
        floor.priorities, floor.units = self.sums[self.cells - 1].priorities, self.sums[self.cells - 1].units
        floor.pods, floor.age = self.sums[self.cells - 1].pods, self.sums[self.cells - 1].age
        for term in range(self.domain.terms):
            floor.terms[term] = self.domain.domain_terms[term, self.domain.index]
        return True

    # ---- one node

    cdef void list_units(self, Py_ssize_t node) noexcept nogil:
        """The units up to the cut-off, the cheapest first, and what is left with all of them gone."""
        cdef Py_ssize_t r, piece, k, i
        cdef int64_t unit
        self.count, self.apart = 0, 1
        for r in range(self.domain.resources):
            self.emptied[r] = self.free[node, r]
        for k in range(self.domain.node_pieces[node + 1] - 1, self.domain.node_pieces[node] - 1, -1):
            piece = self.domain.node_piece[k]
            unit = self.domain.piece_unit[piece]
            if self.domain.unit_priority[unit] > self.cutoff:
                break
            self.list_unit(unit, piece)
            for r in range(self.domain.resources):
                self.emptied[r] += self.domain.piece_room[piece, r]
        self.running[0] = 0
        for i in range(self.count):
            self.running[i + 1] = self.running[i] + self.price(i)
        self.latest[self.count] = NEVER
        for r in range(self.domain.resources):
            self.largest[self.count, r] = self.rest[self.count, r] = 0
        for i in range(self.count - 1, -1, -1):
            unit = self.units[i]
            if self.domain.unit_priority[unit] == self.cutoff:
                self.latest[i] = min(self.latest[i + 1], -self.domain.unit_start[unit])
            else:
                self.latest[i] = NOBODY
            for r in range(self.domain.resources):
                self.largest[i, r] = max(self.largest[i + 1, r], self.domain.piece_room[self.pieces[i], r])
                self.rest[i, r] = self.rest[i + 1, r] + self.domain.piece_room[self.pieces[i], r]

    cdef void list_unit(self, Py_ssize_t unit, Py_ssize_t piece) noexcept nogil:
        """Put the unit where its price is in order. Of one with several pieces, each has a part of the price.

        No more of them are of use than there are members.
        """
        cdef Py_ssize_t k, i = self.count
        cdef int64_t price, parts = 0
        for k in range(self.domain.unit_pieces[unit], self.domain.unit_pieces[unit + 1]):
            parts += self.domain.first <= self.domain.piece_node[k] < self.domain.end
        parts = min(parts, self.most_members)
        price = (self.domain.unit_priority[unit] + WEIGHT) // parts
        while i > 0 and self.price(i - 1) > price:
            self.units[i], self.pieces[i], self.parts[i] = self.units[i - 1], self.pieces[i - 1], self.parts[i - 1]
            i -= 1
        self.units[i], self.pieces[i], self.parts[i] = <int32_t>unit, <int32_t>piece, parts
        self.count += 1
        if parts > 1:
            self.apart = 0

    cdef int64_t price(self, Py_ssize_t i) noexcept nogil:
        return (self.domain.unit_priority[self.units[i]] + WEIGHT) // self.parts[i]

    cdef bint admits(self, Py_ssize_t node, Py_ssize_t cell) noexcept nogil:
        """Whether the node takes these members with all units gone."""
        cdef Py_ssize_t shape, r
        for shape in range(self.domain.shapes):
            if self.members[cell, shape] and not self.domain.admitted[shape, node]:
                return False
            if self.members[cell, shape] > 1 and self.domain.alone[shape]:
                return False
        for r in range(self.domain.resources):
            if self.wanted[cell, r] > 0 and self.wanted[cell, r] > self.emptied[r]:
                return False
        return True

    cdef void lack(self, Py_ssize_t node, Py_ssize_t cell) noexcept nogil:
        """Into `missing`: the room that these members lack with nobody gone."""
        cdef Py_ssize_t r
        cdef int64_t wanted
        for r in range(self.domain.resources):
            wanted = self.wanted[cell, r]
            self.missing[r] = max(0, wanted - self.free[node, r]) if wanted > 0 else 0

    cdef Py_ssize_t fewest(self, Py_ssize_t i) noexcept nogil:
        """How many units from the i-th on leave what is missing, at least; -1 if not even all do."""
        cdef Py_ssize_t r, units = 0
        for r in range(self.domain.resources):
            if self.missing[r] > self.rest[i, r]:
                return -1
            if self.missing[r] > 0:
                units = max(units, (self.missing[r] + self.largest[i, r] - 1) // self.largest[i, r])
        return units

    cdef Price at_least(self, Py_ssize_t i, Price so_far, Py_ssize_t units) noexcept nogil:
        """The price with that many more units from the i-th on. The part of a unit may count as none."""
        cdef Price price = so_far
        price.priorities += self.running[i + units] - self.running[i]
        price.units += self.apart * units
        price.pods += self.apart * units
        if units:
            price.age = max(price.age, self.latest[i])
        return price

    # ---- all nodes

    cdef bint sum_up(self) noexcept nogil:
        """The least sums for all members; False if it takes too much work."""
        cdef Py_ssize_t node, cell
        self.work = 0
        self.sums[0] = _nothing(0)
        for cell in range(1, self.cells):
            self.sums[cell] = _nothing(NEVER)
        for node in range(self.domain.end - self.domain.first):
            self.add_node(node)
            if self.work > WORK:
                return False
        return True

    cdef void add_node(self, Py_ssize_t node) noexcept nogil:
        cdef Py_ssize_t cell, k, part, count = 0
        cdef Price price
        for cell in range(1, self.cells):
            if self.prices[node, cell].priorities < NEVER:
                self.possible[count] = <int32_t>cell
                count += 1
        self.work += self.cells * (count + 1)
        for cell in range(self.cells - 1, 0, -1):
            for k in range(count):
                part = self.possible[k]
                if part > cell:
                    break
                if self.sums[cell - part].priorities >= NEVER or not self.contains(cell, part):
                    continue
                price = _both(&self.sums[cell - part], &self.prices[node, part])
                if _cheaper(&price, &self.sums[cell]):
                    self.sums[cell] = price

    cdef bint contains(self, Py_ssize_t cell, Py_ssize_t part) noexcept nogil:
        cdef Py_ssize_t shape
        for shape in range(self.domain.shapes):
            if self.members[cell, shape] < self.members[part, shape]:
                return False
        return True

    # ---- more exactly

    cdef void refine(self, Score* best) noexcept nogil:
        """The exact prices that a plan better than the best one could have on its nodes. The others count no more."""
        cdef Py_ssize_t node, cell, whole = self.cells - 1
        cdef Price known, price
        known.priorities, known.units, known.pods, known.age = best.priorities, best.units, best.pods, best.age
        for node in range(self.domain.first, self.domain.end):
            self.list_units(node)
            for cell in range(1, self.cells):
                price = self.prices[node - self.domain.first, cell]
                if price.priorities >= NEVER:
                    continue
                if self.sums[whole - cell].priorities < NEVER:
                    price = _both(&price, &self.sums[whole - cell])
                    if _cheaper(&price, &known):
                        price = self.exactly(node, cell, known.priorities - self.sums[whole - cell].priorities)
                        self.prices[node - self.domain.first, cell] = price
                        continue
                self.prices[node - self.domain.first, cell] = _nothing(NEVER)

    cdef Price exactly(self, Py_ssize_t node, Py_ssize_t cell, int64_t most) noexcept nogil:
        """The price of the cheapest units that leave the room, if their priorities sum up to `most` at most."""
        cdef int64_t before = self.steps
        self.lack(node, cell)
        self.least, self.most = _nothing(NEVER), most
        self.limit = min(CHOICES, self.steps + CHOICES_EACH)
        self.choose(0, _nothing(0))
        if self.steps >= self.limit:
            return self.prices[node - self.domain.first, cell]
        return self.least

    cdef void choose(self, Py_ssize_t i, Price so_far) noexcept nogil:
        """All sets with the units so far and others from the i-th on, without those that cannot be cheaper."""
        cdef Py_ssize_t r, piece, units = self.fewest(i)
        cdef Price price
        cdef int64_t unit
        self.steps += 1
        if units < 0 or self.steps >= self.limit:
            return
        price = self.at_least(i, so_far, units)
        if price.priorities > self.most or not _cheaper(&price, &self.least):
            return
        if units == 0:
            self.least = so_far
            return
        unit, piece = self.units[i], self.pieces[i]
        price = so_far
        price.priorities += self.running[i + 1] - self.running[i]
        price.units += 1 // self.parts[i]
        price.pods += self.domain.unit_pods[unit] // self.parts[i]
        if self.domain.unit_priority[unit] == self.cutoff:
            price.age = max(price.age, -self.domain.unit_start[unit])
        for r in range(self.domain.resources):
            self.missing[r] -= self.domain.piece_room[piece, r]
        self.choose(i + 1, price)
        for r in range(self.domain.resources):
            self.missing[r] += self.domain.piece_room[piece, r]
        self.choose(i + 1, so_far)
