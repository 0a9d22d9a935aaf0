# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""What the best plan in a domain costs at least, so that no search goes on where there is no better one.

It counts for plans without violations, up to the lowest cut-off. A plan's price is the sum of what its nodes
cost. For each node and number of members: the cheapest units that leave the room. A table over the nodes has
the least sum for all members. Where a unit on several nodes is evicted, it is paid once, and on its nodes all
such units are gone. Only the room counts. What members forbid one another, and budgets, can make a plan
dearer, never cheaper. See docs/decisions/0095.
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
        self.list_cells(problem, nodes)
        rows = nodes if self.cells else 0
        self.prices, self.freed = (np.zeros((rows, self.cells), PRICE) for _ in range(2))
        self.sums, self.parts, self.paid = (np.zeros(self.cells, PRICE) for _ in range(3))
        self.possible, self.shared = np.zeros(self.cells, np.int32), np.zeros(nodes, np.uint8)
        self.units, self.pieces = np.zeros(widest, np.int32), np.zeros(widest, np.int32)
        self.running, self.latest = np.zeros(widest + 1, np.int64), np.zeros(widest + 1, np.int64)
        self.largest, self.rest = (np.zeros((widest + 1, domain.resources), np.int64) for _ in range(2))
        self.missing, self.room, self.emptied = (np.zeros(domain.resources, np.int64) for _ in range(3))

    cdef list_cells(self, problem, nodes):
        """All numbers of members, by shape; none if they are too many."""
        counts = problem.counts.astype(np.int64)
        cells = 1
        for count in counts.tolist():
            cells *= count + 1
        fits = cells <= CELLS and cells * nodes <= ENTRIES
        self.cells = cells if fits else 0
        strides = np.ones(len(counts), np.int64)
        if fits:
            strides[1:] = np.cumprod(counts + 1)[:len(counts) - 1]
        members = np.arange(self.cells)[:, None] // strides % (counts + 1)
        self.members = np.ascontiguousarray(members, np.int32)
        self.wanted = np.ascontiguousarray(members @ problem.requests)

    cdef bint find(self, Score* best, Score* floor) noexcept nogil:
        """The floor of the domain that was entered. The best plan has no violations, and the lowest cut-off.

        No plan costs less than the floor, which is never above the best plan. False if nothing is known.
        """
        cdef Price found
        cdef Py_ssize_t term
        if not self.cells:
            return False
        self.known.priorities, self.known.units = best.priorities, best.units
        self.known.pods, self.known.age = best.pods, best.age
        self.cutoff, self.steps = best.highest, 0
        self.price_nodes()
        if not self.sum_up():
            return False
        if _cheaper(&self.sums[self.cells - 1], &self.known):
            self.refine()
            self.sum_up()
        found = self.sums[self.cells - 1]
        if not _cheaper(&found, &self.known):
            found = self.known
        floor.violations, floor.highest = 0, best.highest
        floor.priorities, floor.units = found.priorities, found.units
        floor.pods, floor.age = found.pods, found.age
        for term in range(self.domain.terms):
            floor.terms[term] = self.domain.domain_terms[term, self.domain.index]
        return True

    # ---- one node

    cdef void price_nodes(self) noexcept nogil:
        """What each node costs at least for each number of members."""
        cdef Py_ssize_t node
        for node in range(self.domain.first, self.domain.end):
            self.shared[node - self.domain.first] = self.list_units(node, False)
            self.price_node(node, &self.prices[node - self.domain.first, 0])
            if self.shared[node - self.domain.first]:
                self.list_units(node, True)
                self.price_node(node, &self.freed[node - self.domain.first, 0])

    cdef void price_node(self, Py_ssize_t node, Price* prices) noexcept nogil:
        cdef Py_ssize_t cell
        for cell in range(self.cells):
            prices[cell] = _nothing(NEVER)
            if self.admits(node, cell):
                self.lack(cell)
                prices[cell] = self.at_least(0, _nothing(0), self.fewest(0))

    cdef bint list_units(self, Py_ssize_t node, bint frees) noexcept nogil:
        """The units up to the cut-off that the domain has on this node only; whether there are others.

        Into `room`: what is free, with the others gone if `frees`. Into `emptied`: with all listed ones gone.
        """
        cdef Py_ssize_t r, piece, k
        cdef int64_t unit
        cdef bint others = False
        self.count = 0
        for r in range(self.domain.resources):
            self.room[r] = self.free[node, r]
        for k in range(self.domain.node_pieces[node + 1] - 1, self.domain.node_pieces[node] - 1, -1):
            piece = self.domain.node_piece[k]
            unit = self.domain.piece_unit[piece]
            if self.domain.unit_priority[unit] > self.cutoff:
                break
            if self.is_on_several(unit):
                others = True
                for r in range(self.domain.resources if frees else 0):
                    self.room[r] += self.domain.piece_room[piece, r]
                continue
            self.units[self.count], self.pieces[self.count] = <int32_t>unit, <int32_t>piece
            self.count += 1
        self.sum_units()
        for r in range(self.domain.resources):
            self.emptied[r] = self.room[r] + self.rest[0, r]
        return others

    cdef bint is_on_several(self, Py_ssize_t unit) noexcept nogil:
        """Whether the unit is on several nodes of the domain."""
        cdef Py_ssize_t k, nodes = 0
        for k in range(self.domain.unit_pieces[unit], self.domain.unit_pieces[unit + 1]):
            nodes += self.domain.first <= self.domain.piece_node[k] < self.domain.end
        return nodes > 1

    cdef void sum_units(self) noexcept nogil:
        """What the first of the listed units cost, and what those from each one on leave."""
        cdef Py_ssize_t i, r, count = self.count
        cdef int64_t room
        self.running[0], self.latest[count] = 0, NEVER
        for i in range(count):
            self.running[i + 1] = self.running[i] + self.domain.unit_priority[self.units[i]] + WEIGHT
        for r in range(self.domain.resources):
            self.largest[count, r] = self.rest[count, r] = 0
        for i in range(count - 1, -1, -1):
            self.latest[i] = min(self.latest[i + 1], self.age_of(self.units[i]))
            for r in range(self.domain.resources):
                room = self.domain.piece_room[self.pieces[i], r]
                self.largest[i, r] = max(self.largest[i + 1, r], room)
                self.rest[i, r] = self.rest[i + 1, r] + room

    cdef int64_t age_of(self, Py_ssize_t unit) noexcept nogil:
        if self.domain.unit_priority[unit] < self.cutoff:
            return NOBODY
        return -self.domain.unit_start[unit]

    cdef bint admits(self, Py_ssize_t node, Py_ssize_t cell) noexcept nogil:
        """Whether the node takes these members with all its units gone."""
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

    cdef void lack(self, Py_ssize_t cell) noexcept nogil:
        """Into `missing`: the room that these members lack."""
        cdef Py_ssize_t r
        cdef int64_t wanted
        for r in range(self.domain.resources):
            wanted = self.wanted[cell, r]
            self.missing[r] = max(0, wanted - self.room[r]) if wanted > 0 else 0

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
        """The price with that many more units from the i-th on."""
        cdef Price price = so_far
        price.priorities += self.running[i + units] - self.running[i]
        price.units += units
        price.pods += units
        if units:
            price.age = max(price.age, self.latest[i])
        return price

    # ---- all nodes

    cdef bint sum_up(self) noexcept nogil:
        """The least sums for all numbers of members; False if it takes too much work."""
        cdef Py_ssize_t node
        self.work = 0
        self.begin(self.sums)
        for node in range(self.domain.end - self.domain.first):
            self.add_node(self.sums, &self.prices[node, 0])
            if self.work > WORK:
                return False
        return self.pay_others()

    cdef void begin(self, Price[::1] sums) noexcept nogil:
        cdef Py_ssize_t cell
        sums[0] = _nothing(0)
        for cell in range(1, self.cells):
            sums[cell] = _nothing(NEVER)

    cdef void add_node(self, Price[::1] sums, Price* prices) noexcept nogil:
        """The least sums with one node more."""
        cdef Py_ssize_t cell, k, count = 0
        for cell in range(1, self.cells):
            if prices[cell].priorities < NEVER:
                self.possible[count] = <int32_t>cell
                count += 1
        self.work += self.cells * (count + 1)
        for cell in range(self.cells - 1, 0, -1):
            for k in range(count):
                self.lower(sums, cell, self.possible[k], &prices[self.possible[k]])

    cdef void lower(self, Price[::1] sums, Py_ssize_t cell, Py_ssize_t part, Price* price) noexcept nogil:
        """The members of the cell cost no more than those of a part at this price, and the others."""
        cdef Py_ssize_t shape
        cdef Price both
        if part > cell or sums[cell - part].priorities >= NEVER:
            return
        for shape in range(self.domain.shapes):
            if self.members[cell, shape] < self.members[part, shape]:
                return
        both = _both(&sums[cell - part], price)
        if _cheaper(&both, &sums[cell]):
            sums[cell] = both

    cdef bint pay_others(self) noexcept nogil:
        """Lower the sums by units on several nodes: the members there, once the unit is paid for."""
        cdef Py_ssize_t i, cell, part
        self.begin(self.paid)
        for i in range(self.domain.up_to(self.cutoff), self.domain.count):
            if self.is_on_several(self.domain.units[i]):
                self.pay(self.domain.units[i])
            if self.work > WORK:
                return False
        for cell in range(1, self.cells):
            for part in range(1, cell + 1):
                if self.paid[part].priorities < NEVER:
                    self.work += 1
                    self.lower(self.sums, cell, part, &self.paid[part])
        return True

    cdef void pay(self, Py_ssize_t unit) noexcept nogil:
        """Into `paid`: what members cost on the nodes of this unit, if that is less than with another one."""
        cdef Py_ssize_t k, node, cell
        cdef Price whole, price
        self.begin(self.parts)
        for k in range(self.domain.unit_pieces[unit], self.domain.unit_pieces[unit + 1]):
            node = self.domain.piece_node[k]
            if self.domain.first <= node < self.domain.end:
                self.add_node(self.parts, &self.freed[node - self.domain.first, 0])
        whole.priorities, whole.units = self.domain.unit_priority[unit] + WEIGHT, 1
        whole.pods, whole.age = self.domain.unit_pods[unit], self.age_of(unit)
        for cell in range(1, self.cells):
            if self.parts[cell].priorities < NEVER:
                price = _both(&self.parts[cell], &whole)
                if _cheaper(&price, &self.paid[cell]):
                    self.paid[cell] = price

    # ---- more exactly

    cdef void refine(self) noexcept nogil:
        """The exact prices of what a plan better than the best one could have on its nodes.

        The others count no more.
        """
        cdef Py_ssize_t node
        for node in range(self.domain.first, self.domain.end):
            self.list_units(node, False)
            self.refine_node(&self.prices[node - self.domain.first, 0])
            if self.shared[node - self.domain.first]:
                self.list_units(node, True)
                self.refine_node(&self.freed[node - self.domain.first, 0])

    cdef void refine_node(self, Price* prices) noexcept nogil:
        cdef Py_ssize_t cell, others
        cdef int64_t most
        cdef Price price
        for cell in range(1, self.cells):
            if prices[cell].priorities >= NEVER:
                continue
            others = self.cells - 1 - cell
            price = _nothing(NEVER)
            if self.sums[others].priorities < NEVER:
                price = _both(&prices[cell], &self.sums[others])
            if _cheaper(&price, &self.known):
                self.lack(cell)
                most = self.known.priorities - self.sums[others].priorities
                prices[cell] = self.exactly(prices[cell], most)
            else:
                prices[cell] = _nothing(NEVER)

    cdef Price exactly(self, Price bound, int64_t most) noexcept nogil:
        """The price of the cheapest units that leave what is missing; NEVER if the priorities sum up to more.

        The bound, if it takes too much work.
        """
        self.least, self.most = _nothing(NEVER), most
        self.limit = min(CHOICES, self.steps + CHOICES_EACH)
        self.choose(0, _nothing(0))
        return bound if self.steps >= self.limit else self.least

    cdef void choose(self, Py_ssize_t i, Price so_far) noexcept nogil:
        """All sets with the units so far and others from the i-th on, but those that cannot be cheaper."""
        cdef Py_ssize_t r, piece, units = self.fewest(i)
        cdef Price price
        self.steps += 1
        if units < 0 or self.steps >= self.limit:
            return
        price = self.at_least(i, so_far, units)
        if price.priorities > self.most or not _cheaper(&price, &self.least):
            return
        if units == 0:
            self.least = so_far
            return
        piece = self.pieces[i]
        price = so_far
        price.priorities += self.running[i + 1] - self.running[i]
        price.units += 1
        price.pods += self.domain.unit_pods[self.units[i]]
        price.age = max(price.age, self.age_of(self.units[i]))
        for r in range(self.domain.resources):
            self.missing[r] -= self.domain.piece_room[piece, r]
        self.choose(i + 1, price)
        for r in range(self.domain.resources):
            self.missing[r] += self.domain.piece_room[piece, r]
        self.choose(i + 1, so_far)
