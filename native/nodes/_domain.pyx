# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""One domain: the room on its nodes, given who is gone and which members are placed.

`room[n]` is what is left on node n once the units in `gone` are gone and the members in `placed` are there.
Then `held[n, t]` pods bring token t to node n, and `barred[n, t]` members there forbid it.

Most of the time only units of low priority are gone, which are few and come last. So it is known from where
on somebody can be gone, and nobody looks at the others.
The plain twin is tests/twins/nodes/domain.py.
"""

import numpy as np


cdef int64_t WEIGHT = 1 << 31
cdef int64_t MANY = 1 << 31


cdef bint less(Score* one, Score* other) noexcept nogil:
    cdef int term
    if one.violations != other.violations:
        return one.violations < other.violations
    if one.highest != other.highest:
        return one.highest < other.highest
    if one.priorities != other.priorities:
        return one.priorities < other.priorities
    if one.units != other.units:
        return one.units < other.units
    if one.pods != other.pods:
        return one.pods < other.pods
    if one.age != other.age:
        return one.age < other.age
    for term in range(TERMS):
        if one.terms[term] != other.terms[term]:
            return one.terms[term] < other.terms[term]
    return False


cdef class Domain:

    def __init__(self, problem):
        self.domains, self.counts = problem.domains, problem.counts
        self.unit_pods, self.unit_pieces = problem.unit_pods, problem.unit_pieces
        self.piece_unit, self.piece_node = problem.piece_unit, problem.piece_node
        self.node_pieces, self.node_piece = problem.node_pieces, problem.node_piece
        self.unit_budgets, self.budget = problem.unit_budgets, problem.budget
        self.budget_pods, self.allowed = problem.budget_pods, problem.allowed
        self.unit_priority, self.unit_start = problem.unit_priority, problem.unit_start
        self.unit_terms, self.domain_terms = problem.unit_terms, problem.domain_terms
        self.terms = problem.unit_terms.shape[0]
        if self.terms > TERMS:
            raise ValueError(f"{self.terms} terms, and at most {TERMS} are possible")
        self.leaving, self.requests = problem.leaving, problem.requests
        self.piece_room, self.admitted = problem.piece_room, problem.admitted
        self.held_by_leaving = problem.held_by_leaving
        self.brings, self.forbids = problem.brings, problem.forbids
        self.piece_tokens = problem.piece_tokens
        self.token, self.token_pods = problem.token, problem.token_pods
        nodes, units = len(problem.free), len(problem.unit_priority)
        self.shapes, self.resources = problem.requests.shape
        self.budgets = len(problem.allowed)
        self.tokens = problem.held.shape[1]
        self.room = problem.free.copy()
        self.held = problem.held.copy()
        self.barred = np.zeros_like(problem.held)
        self.alone = (problem.brings & problem.forbids).any(axis=1).astype(np.uint8)
        self.placed = np.zeros((self.shapes, nodes), np.int32)
        self.asked = np.zeros((nodes, self.resources), np.int32)
        self.gone = np.zeros(units, np.uint8)
        self.evicted = np.zeros(self.budgets, np.int64)
        self.tally = np.zeros(self.budgets, np.int64)
        self.members = np.zeros(len(problem.domains), np.int32)
        self.member = np.zeros(0, np.int32)
        self.spread = np.zeros(len(problem.domains), np.uint8)
        self.dearest = units
        self.list_units(nodes)

    cdef list_units(self, Py_ssize_t nodes):
        """The units with a piece in each domain, most important first: count them, then write them down.

        `spread`: whether one of them has several pieces, there or elsewhere.
        """
        cdef Py_ssize_t unit, piece, domain, domains = self.domains.shape[0] - 1
        cdef bint writes
        cdef int32_t[::1] home = np.full(nodes, -1, np.int32)
        cdef int32_t[::1] latest, ends = np.zeros(domains + 1, np.int32)
        for domain in range(domains):
            for piece in range(self.domains[domain], self.domains[domain + 1]):
                home[piece] = <int32_t>domain
        for writes in (False, True):
            latest = np.full(domains, -1, np.int32)
            for unit in range(self.unit_pods.shape[0]):
                for piece in range(self.unit_pieces[unit], self.unit_pieces[unit + 1]):
                    domain = home[self.piece_node[piece]]
                    if domain < 0 or latest[domain] == unit:
                        continue
                    latest[domain] = <int32_t>unit
                    if writes:
                        self.member[ends[domain]] = <int32_t>unit
                        self.spread[domain] |= self.unit_pieces[unit + 1] - self.unit_pieces[unit] > 1
                    ends[domain] += 1
            if not writes:
                np.cumsum(ends[:domains], out=np.asarray(self.members)[1:])
                self.member = np.zeros(self.members[domains], np.int32)
                ends = self.members.copy()

    cdef void enter(self, Py_ssize_t index) noexcept nogil:
        self.index = index
        self.first, self.end = self.domains[index], self.domains[index + 1]
        self.pieces = self.node_pieces[self.end] - self.node_pieces[self.first]
        self.count = self.members[index + 1] - self.members[index]
        self.units = &self.member[self.members[index]]
        self.dearest = self.unit_priority.shape[0]

    cdef void leave(self) noexcept nogil:
        cdef Py_ssize_t k
        self.clear()
        for k in range(self.first_gone(), self.count):
            if self.gone[self.units[k]]:
                self.put_back(self.units[k])

    # ---- units

    cdef bint would_violate(self) noexcept nogil:
        """Whether budgets would be exceeded with all units of the domain gone. Nobody is gone."""
        cdef Py_ssize_t i, k, budget, count = self.count if self.budgets else 0
        cdef bint over = False
        for i in range(count):
            for k in range(self.unit_budgets[self.units[i]], self.unit_budgets[self.units[i] + 1]):
                budget = self.budget[k]
                self.tally[budget] += self.budget_pods[k]
                over = over or self.tally[budget] > max(0, self.allowed[budget])
        for i in range(count):
            for k in range(self.unit_budgets[self.units[i]], self.unit_budgets[self.units[i] + 1]):
                self.tally[self.budget[k]] = 0
        return over

    cdef Py_ssize_t up_to(self, int64_t cutoff) noexcept nogil:
        """Where in `units` those with a priority up to the cut-off begin."""
        cdef Py_ssize_t low = 0, high = self.count, middle
        while low < high:
            middle = (low + high) // 2
            if self.unit_priority[self.units[middle]] <= cutoff:
                high = middle
            else:
                low = middle + 1
        return low

    cdef Py_ssize_t first_gone(self) noexcept nogil:
        """A place in `units`: nobody before it is gone."""
        cdef Py_ssize_t low = 0, high = self.count, middle
        while low < high:
            middle = (low + high) // 2
            if self.units[middle] >= self.dearest:
                high = middle
            else:
                low = middle + 1
        return low

    cdef Py_ssize_t first_gone_on(self, Py_ssize_t node) noexcept nogil:
        """A place in `node_piece`: no piece of the node before it belongs to a unit that is gone."""
        cdef Py_ssize_t low = self.node_pieces[node], high = self.node_pieces[node + 1], middle
        while low < high:
            middle = (low + high) // 2
            if self.piece_unit[self.node_piece[middle]] >= self.dearest:
                high = middle
            else:
                low = middle + 1
        return low

    cdef void take(self, Py_ssize_t unit) noexcept nogil:
        self.move(unit, 1)
        self.gone[unit] = 1
        self.dearest = min(self.dearest, unit)

    cdef void put_back(self, Py_ssize_t unit) noexcept nogil:
        self.move(unit, -1)
        self.gone[unit] = 0

    cdef void move(self, Py_ssize_t unit, int sign) noexcept nogil:
        cdef Py_ssize_t piece, node, r, k, budget
        for piece in range(self.unit_pieces[unit], self.unit_pieces[unit + 1]):
            node = self.piece_node[piece]
            if self.first <= node < self.end:
                for r in range(self.resources):
                    self.room[node, r] += sign * self.piece_room[piece, r]
                if self.tokens:
                    self.move_tokens(node, piece, sign)
        for k in range(self.unit_budgets[unit], self.unit_budgets[unit + 1]):
            budget = self.budget[k]
            self.violations -= max(0, self.evicted[budget] - self.allowed[budget])
            self.evicted[budget] += sign * self.budget_pods[k]
            self.violations += max(0, self.evicted[budget] - self.allowed[budget])

    cdef void wait(self, int sign) noexcept nogil:
        cdef Py_ssize_t node, r, t
        for node in range(self.first, self.end):
            for r in range(self.resources):
                self.room[node, r] += sign * self.leaving[node, r]
            for t in range(self.tokens):
                self.held[node, t] -= sign * self.held_by_leaving[node, t]

    cdef int64_t strain(self, Py_ssize_t unit, int sign) noexcept nogil:
        cdef Py_ssize_t k, budget
        cdef int64_t over, grown = 0
        for k in range(self.unit_budgets[unit], self.unit_budgets[unit + 1]):
            budget = self.budget[k]
            over = self.evicted[budget] - self.allowed[budget]
            grown += max(0, over + sign * self.budget_pods[k]) - max(0, over)
        return sign * grown

    cdef bint can_stay(self, Py_ssize_t unit) noexcept nogil:
        cdef Py_ssize_t piece, node
        for piece in range(self.unit_pieces[unit], self.unit_pieces[unit + 1]):
            node = self.piece_node[piece]
            if self.first <= node < self.end and not self.keeps(node, piece):
                return False
        return True

    cdef bint keeps(self, Py_ssize_t node, Py_ssize_t piece) noexcept nogil:
        cdef Py_ssize_t r
        cdef int64_t held
        for r in range(self.resources):
            held = self.piece_room[piece, r]
            if held > 0 and self.room[node, r] < held and self.asked[node, r] > 0:
                return False
        return not self.tokens or not self.conflicts(node, piece)

    # ---- members

    cdef int64_t capacity(self, Py_ssize_t shape, Py_ssize_t node) noexcept nogil:
        cdef Py_ssize_t r
        cdef int64_t request, room, most = -1
        if not self.admitted[shape, node]:
            return 0
        for r in range(self.resources):
            request = self.requests[shape, r]
            if request > 0:
                room = self.room[node, r]
                if room < request:
                    return 0
                room = room // request
                if most < 0 or room < most:
                    most = room
        if self.tokens:
            return min(most, self.beside(shape, node))
        return most

    cdef void add(self, Py_ssize_t shape, Py_ssize_t node, int64_t members) noexcept nogil:
        cdef Py_ssize_t r
        cdef int64_t request
        self.placed[shape, node] += <int32_t>members
        for r in range(self.resources):
            request = self.requests[shape, r]
            if request > 0:
                self.room[node, r] -= members * request
                self.asked[node, r] += <int32_t>members
        if self.tokens:
            self.add_tokens(shape, node, <int32_t>members)

    cdef void assume(self, int32_t[:, ::1] placement) noexcept nogil:
        cdef Py_ssize_t shape, node
        for shape in range(self.shapes):
            for node in range(self.first, self.end):
                if placement[shape, node]:
                    self.add(shape, node, placement[shape, node])

    cdef void clear(self) noexcept nogil:
        cdef Py_ssize_t shape, node
        for shape in range(self.shapes):
            for node in range(self.first, self.end):
                if self.placed[shape, node]:
                    self.add(shape, node, -self.placed[shape, node])

    # ---- pods that cannot share a node

    cdef void move_tokens(self, Py_ssize_t node, Py_ssize_t piece, int sign) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.piece_tokens[piece], self.piece_tokens[piece + 1]):
            self.held[node, self.token[k]] -= sign * self.token_pods[k]

    cdef void add_tokens(self, Py_ssize_t shape, Py_ssize_t node, int32_t members) noexcept nogil:
        cdef Py_ssize_t t
        for t in range(self.tokens):
            self.held[node, t] += members * self.brings[shape, t]
            self.barred[node, t] += members * self.forbids[shape, t]

    cdef bint conflicts(self, Py_ssize_t node, Py_ssize_t piece) noexcept nogil:
        """Whether a member on the node forbids what the piece would bring back."""
        cdef Py_ssize_t k
        for k in range(self.piece_tokens[piece], self.piece_tokens[piece + 1]):
            if self.barred[node, self.token[k]] > 0:
                return True
        return False

    cdef int64_t beside(self, Py_ssize_t shape, Py_ssize_t node) noexcept nogil:
        """How many members of the shape the pods on the node, and one another, let be there at most."""
        cdef Py_ssize_t t
        for t in range(self.tokens):
            if self.forbids[shape, t] and self.held[node, t] > 0:
                return 0
            if self.brings[shape, t] and self.barred[node, t] > 0:
                return 0
        return 1 if self.alone[shape] else MANY

    # ---- what it costs

    cdef Score score(self, int32_t* victims, Py_ssize_t count) noexcept nogil:
        cdef Py_ssize_t i, k, unit, budget, term
        cdef int64_t priority
        cdef Score score
        score.violations = score.priorities = score.pods = 0
        score.units = count
        score.highest = self.unit_priority[victims[0]]
        score.age = -self.unit_start[victims[0]]
        for term in range(TERMS):
            score.terms[term] = self.domain_terms[term, self.index] if term < self.terms else 0
        for i in range(count):
            unit = victims[i]
            priority = self.unit_priority[unit]
            score.priorities += priority + WEIGHT
            score.pods += self.unit_pods[unit]
            for term in range(self.terms):
                score.terms[term] += self.unit_terms[term, unit]
            if priority > score.highest:
                score.highest, score.age = priority, -self.unit_start[unit]
            elif priority == score.highest:
                score.age = max(score.age, -self.unit_start[unit])
            for k in range(self.unit_budgets[unit], self.unit_budgets[unit + 1]):
                budget = self.budget[k]
                score.violations -= max(0, self.tally[budget] - self.allowed[budget])
                self.tally[budget] += self.budget_pods[k]
                score.violations += max(0, self.tally[budget] - self.allowed[budget])
        for i in range(count):
            for k in range(self.unit_budgets[victims[i]], self.unit_budgets[victims[i] + 1]):
                self.tally[self.budget[k]] = 0
        return score

    cdef bint is_dearer(self, Py_ssize_t index, Py_ssize_t other) noexcept nogil:
        """Whether the first domain costs more by the terms than the other one, with nobody evicted."""
        cdef Py_ssize_t term
        for term in range(self.terms):
            if self.domain_terms[term, index] != self.domain_terms[term, other]:
                return self.domain_terms[term, index] > self.domain_terms[term, other]
        return False
