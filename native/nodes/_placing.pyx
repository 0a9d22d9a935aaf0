# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""Place the preemptor where it needs the fewest and cheapest victims.

The plain twin, tests/twins/nodes/placing.py, looks at every node before every step. This one keeps the
nodes in a heap, the cheapest first, and looks again only at nodes whose cost can have changed: the node
that was chosen, those on which a unit that now goes has a piece, and those whose units, all gone, would
overdraw a budget that is drawn on and not yet spent. A node with more members than are left becomes only
dearer, so it is looked at again when it comes first.

See docs/decisions/0006.
"""

import numpy as np


cdef int64_t WEIGHT = 1 << 31

COST = np.dtype([(name, np.int64) for name in ("violations", "priorities", "pods", "age", "members")])


cdef bint _cheaper(Cost* a, Cost* b) noexcept nogil:
    """Per member, without fractions; then the later start, then more members at once."""
    if a.violations * b.members != b.violations * a.members:
        return a.violations * b.members < b.violations * a.members
    if a.priorities * b.members != b.priorities * a.members:
        return a.priorities * b.members < b.priorities * a.members
    if a.pods * b.members != b.pods * a.members:
        return a.pods * b.members < b.pods * a.members
    if a.age != b.age:
        return a.age < b.age
    return a.members > b.members


cdef _list_budgets(Placer placer, Py_ssize_t nodes):
    """The nodes that draw on each budget, and what they draw at most: first counted, then listed."""
    cdef Domain domain = placer.domain
    cdef Py_ssize_t node, k, i, unit, budget, at, budgets = domain.budgets
    cdef int32_t[::1] latest, ends = np.zeros(budgets, np.int32)
    cdef bint lists
    placer.budget_nodes = np.zeros(budgets + 1, np.int32)
    for lists in (False, True):
        latest = np.full(budgets, -1, np.int32)
        for node in range(nodes if budgets else 0):
            for k in range(domain.node_pieces[node], domain.node_pieces[node + 1]):
                unit = domain.piece_unit[domain.node_piece[k]]
                for i in range(domain.unit_budgets[unit], domain.unit_budgets[unit + 1]):
                    budget = domain.budget[i]
                    if latest[budget] != node:
                        latest[budget] = <int32_t>node
                        ends[budget] += 1
                    if lists:
                        at = ends[budget] - 1
                        placer.budgeted[node], placer.budget_node[at] = 1, <int32_t>node
                        placer.budget_most[at] += domain.budget_pods[i]
                        placer.most_drawn[budget] = max(placer.most_drawn[budget], placer.budget_most[at])
        if not lists:
            np.cumsum(ends, out=np.asarray(placer.budget_nodes)[1:])
            ends = np.array(placer.budget_nodes[:budgets], np.int32)
            placer.budget_node = np.zeros(placer.budget_nodes[budgets], np.int32)
            placer.budget_most = np.zeros(placer.budget_nodes[budgets], np.int64)


cdef class Placer:

    def __init__(self, Domain domain, Packer packer, problem):
        self.domain, self.packer = domain, packer
        nodes, units = len(problem.free), len(problem.unit_priority)
        here = np.diff(problem.node_pieces)
        widest = int(here.max()) if nodes else 0
        self.needed, self.chosen = np.zeros(units, np.uint8), np.empty(units, np.int32)
        self.first_gone = np.zeros(nodes, np.int32)
        self.count = 0
        self.stale = np.zeros(nodes, np.uint8)
        self.handled = np.zeros(widest, np.uint8)
        self.victims = np.zeros(widest, np.int32)
        self.evicted = np.zeros(domain.budgets, np.int64)
        self.before = np.zeros(domain.resources, np.int64)
        self.costs = np.zeros(nodes, COST)
        self.heap = np.zeros(nodes, np.int32)
        self.position = np.zeros(nodes, np.int32)
        self.dirty = np.zeros(nodes, np.int32)
        self.most_drawn = np.zeros(domain.budgets, np.int64)
        self.budgeted = np.zeros(nodes, np.uint8)
        _list_budgets(self, nodes)

    cdef bint place(self, bint batches, bint shared) noexcept nogil:
        cdef Py_ssize_t i
        self.forget()
        if not self.packer.hardest_first():
            return False
        for i in range(self.packer.ordered):
            if not self.place_shape(self.packer.order[i], batches, shared):
                self.domain.clear()
                return False
        self.packer.keep()
        return True

    cdef void forget(self) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.count):
            self.needed[self.chosen[i]] = 0
        self.count = 0
        for i in range(self.domain.budgets):
            self.evicted[i] = 0

    cdef bint place_shape(self, Py_ssize_t shape, bint batches, bint shared) noexcept nogil:
        cdef Py_ssize_t node, i
        cdef int64_t left = self.domain.counts[shape], most = left if batches else 1
        self.size = self.domain.end - self.domain.first
        self.dirt = 0
        for i in range(self.size):
            node = self.domain.first + i
            self.stale[node] = 0
            self.first_gone[node] = <int32_t>self.domain.first_gone_on(node)
            self.costs[node] = self.best_batch(shape, node, most, shared)
            self.heap[i] = <int32_t>node
            self.position[node] = <int32_t>i
        for i in range(self.size // 2 - 1, -1, -1):
            self.sink(i)
        while left:
            node = self.cheapest(shape, left if batches else 1, shared)
            if node < 0:
                return False
            left -= self.costs[node].members
            self.commit(shape, node, self.costs[node].members)
        return True

    cdef Py_ssize_t cheapest(self, Py_ssize_t shape, int64_t most, bint shared) noexcept nogil:
        cdef Py_ssize_t i, node
        for i in range(self.dirt):
            self.stale[self.dirty[i]] = 0
            self.refresh(shape, self.dirty[i], most, shared)
        self.dirt = 0
        if self.size == 0:
            return -1
        while self.costs[self.heap[0]].members > most:
            self.refresh(shape, self.heap[0], most, shared)
        node = self.heap[0]
        return node if self.costs[node].members else -1

    # ---- the heap

    cdef void refresh(self, Py_ssize_t shape, Py_ssize_t node, int64_t most, bint shared) noexcept nogil:
        cdef Cost cost = self.best_batch(shape, node, most, shared)
        self.costs[node] = cost
        self.rise(self.position[node])
        self.sink(self.position[node])

    cdef bint goes_first(self, Py_ssize_t one, Py_ssize_t other) noexcept nogil:
        """Whether node `one` is cheaper; of equal ones the first, and those without room last."""
        cdef Cost* a = &self.costs[one]
        cdef Cost* b = &self.costs[other]
        if a.members == 0 or b.members == 0:
            return a.members > b.members or (a.members == b.members and one < other)
        if _cheaper(a, b):
            return True
        return one < other and not _cheaper(b, a)

    cdef void swap(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        cdef int32_t node = self.heap[i]
        self.heap[i], self.heap[k] = self.heap[k], node
        self.position[self.heap[i]], self.position[node] = <int32_t>i, <int32_t>k

    cdef void rise(self, Py_ssize_t i) noexcept nogil:
        while i > 0 and self.goes_first(self.heap[i], self.heap[(i - 1) // 2]):
            self.swap(i, (i - 1) // 2)
            i = (i - 1) // 2

    cdef void sink(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t child = 2 * i + 1
        while child < self.size:
            if child + 1 < self.size and self.goes_first(self.heap[child + 1], self.heap[child]):
                child += 1
            if not self.goes_first(self.heap[child], self.heap[i]):
                return
            self.swap(i, child)
            i, child = child, 2 * child + 1

    cdef void mark(self, Py_ssize_t node) noexcept nogil:
        """The node's cost can have changed."""
        if self.domain.first <= node < self.domain.end and not self.stale[node]:
            self.stale[node] = 1
            self.dirty[self.dirt] = <int32_t>node
            self.dirt += 1

    # ---- what a node costs

    cdef Cost best_batch(self, Py_ssize_t shape, Py_ssize_t node, int64_t most, bint shared) noexcept nogil:
        """The members that are cheapest together; none (0) where there is no room for one."""
        cdef Cost best, cost
        cdef int64_t members
        best.violations = best.priorities = best.pods = best.age = best.members = 0
        for members in range(1, min(most, self.domain.capacity(shape, node)) + 1):
            self.marginal(shape, node, members)
            cost = self.cost(members, shared)
            if best.members == 0 or _cheaper(&cost, &best):
                best = cost
        return best

    cdef void marginal(self, Py_ssize_t shape, Py_ssize_t node, int64_t members) noexcept nogil:
        """Into `victims`: the units that would be evicted besides, looking at this node alone."""
        cdef Py_ssize_t r
        self.found = 0
        self.domain.add(shape, node, members)
        for r in range(self.domain.resources):
            self.before[r] = self.domain.room[node, r]
        if self.budgeted[node]:
            self.reprieve(node, True)
        self.reprieve(node, False)
        for r in range(self.domain.resources):
            self.domain.room[node, r] = self.before[r]
        self.domain.add(shape, node, -members)

    cdef void reprieve(self, Py_ssize_t node, bint strained) noexcept nogil:
        """Put back what fits, most important first; those whose going strains a budget have a first round."""
        cdef Py_ssize_t k, r, piece, unit
        cdef Py_ssize_t first = self.first_gone[node]
        cdef bint rounds = self.budgeted[node]
        for k in range(first, self.domain.node_pieces[node + 1]):
            piece = self.domain.node_piece[k]
            unit = self.domain.piece_unit[piece]
            if rounds:
                if strained:
                    self.handled[k - first] = 0
                elif self.handled[k - first]:
                    continue
            if not self.domain.gone[unit] or self.needed[unit]:
                continue
            if strained:
                if self.strain(unit) == 0:
                    continue
                self.handled[k - first] = 1
            if self.domain.keeps(node, piece):
                for r in range(self.domain.resources):
                    self.domain.room[node, r] -= self.domain.piece_room[piece, r]
            else:
                self.victims[self.found] = <int32_t>unit
                self.found += 1

    cdef Cost cost(self, int64_t members, bint shared) noexcept nogil:
        """What `victims` cost besides the units that go anyway."""
        cdef Py_ssize_t i, unit
        cdef int64_t parts, priority, highest = 0
        cdef Cost cost
        cost.violations = cost.priorities = cost.pods = cost.age = 0
        cost.members = members
        for i in range(self.found):
            unit = self.victims[i]
            priority = self.domain.unit_priority[unit]
            cost.violations += self.strain(unit)
            self.evict(unit, 1)
            parts = self.domain.unit_pieces[unit + 1] - self.domain.unit_pieces[unit] if shared else 1
            cost.priorities += (priority + WEIGHT) // parts
            cost.pods += self.domain.unit_pods[unit]
            if i == 0 or priority > highest:
                highest, cost.age = priority, -self.domain.unit_start[unit]
            elif priority == highest:
                cost.age = max(cost.age, -self.domain.unit_start[unit])
        for i in range(self.found):
            self.evict(self.victims[i], -1)
        return cost

    cdef int64_t strain(self, Py_ssize_t unit) noexcept nogil:
        cdef Py_ssize_t k, budget
        cdef int64_t over, grown = 0
        for k in range(self.domain.unit_budgets[unit], self.domain.unit_budgets[unit + 1]):
            budget = self.domain.budget[k]
            over = self.evicted[budget] - self.domain.allowed[budget]
            grown += max(0, over + self.domain.budget_pods[k]) - max(0, over)
        return grown

    cdef void evict(self, Py_ssize_t unit, int sign) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.domain.unit_budgets[unit], self.domain.unit_budgets[unit + 1]):
            self.evicted[self.domain.budget[k]] += sign * self.domain.budget_pods[k]

    cdef void commit(self, Py_ssize_t shape, Py_ssize_t node, int64_t members) noexcept nogil:
        cdef Py_ssize_t i, unit, piece
        self.marginal(shape, node, members)
        for i in range(self.found):
            unit = self.victims[i]
            self.needed[unit] = 1
            self.chosen[self.count] = <int32_t>unit
            self.count += 1
            self.draw(unit)
            for piece in range(self.domain.unit_pieces[unit], self.domain.unit_pieces[unit + 1]):
                self.mark(self.domain.piece_node[piece])
        self.domain.add(shape, node, members)
        self.mark(node)

    cdef void draw(self, Py_ssize_t unit) noexcept nogil:
        """The unit goes: what its budgets protect may cost more on nodes that can overdraw them now."""
        cdef Py_ssize_t k, i, budget
        cdef int64_t rest
        for k in range(self.domain.unit_budgets[unit], self.domain.unit_budgets[unit + 1]):
            budget = self.domain.budget[k]
            if self.evicted[budget] >= self.domain.allowed[budget]:
                continue
            rest = self.domain.allowed[budget] - self.evicted[budget] - self.domain.budget_pods[k]
            if self.most_drawn[budget] <= rest:
                continue
            for i in range(self.budget_nodes[budget], self.budget_nodes[budget + 1]):
                if self.budget_most[i] > rest:
                    self.mark(self.budget_node[i])
        self.evict(unit, 1)
