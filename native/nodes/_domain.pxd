from libc.stdint cimport int32_t, int64_t, uint8_t


cdef enum:
    TERMS = 3  # the optional terms of a score that there are


cdef struct Score:
    int64_t violations, highest, priorities, units, pods, age
    int64_t terms[TERMS]


cdef bint less(Score* one, Score* other) noexcept nogil


cdef class Domain:
    # The problem, as in native/nodes/problem.py.
    cdef const int32_t[::1] domains, counts, unit_pods, unit_pieces, piece_unit, piece_node
    cdef const int32_t[::1] node_pieces, node_piece, unit_budgets, budget, budget_pods
    cdef const int64_t[::1] unit_priority, unit_start, allowed
    cdef const int64_t[:, ::1] unit_terms, domain_terms
    cdef const int64_t[:, ::1] leaving, requests, piece_room
    cdef const uint8_t[:, ::1] admitted
    cdef Py_ssize_t resources, shapes, budgets, tokens, terms

    # The domain's state.
    cdef int64_t[:, ::1] room
    cdef int32_t[:, ::1] placed, asked
    cdef uint8_t[::1] gone
    cdef int64_t[::1] evicted, tally
    cdef int32_t[::1] members, member
    cdef uint8_t[::1] spread
    cdef int32_t* units  # those with a piece in the domain, most important first: a part of `member`
    cdef Py_ssize_t index, count, first, end
    cdef Py_ssize_t dearest  # no unit that comes before this one is gone
    cdef int64_t pieces, violations

    # Tokens, of the problem and of the state.
    cdef const int32_t[:, ::1] held_by_leaving, brings, forbids
    cdef const int32_t[::1] piece_tokens, token, token_pods
    cdef int32_t[:, ::1] held, barred
    cdef uint8_t[::1] alone

    cdef list_units(self, Py_ssize_t nodes)
    cdef void enter(self, Py_ssize_t index) noexcept nogil
    cdef void leave(self) noexcept nogil
    cdef bint would_violate(self) noexcept nogil
    cdef Py_ssize_t up_to(self, int64_t cutoff) noexcept nogil
    cdef Py_ssize_t first_gone(self) noexcept nogil
    cdef Py_ssize_t first_gone_on(self, Py_ssize_t node) noexcept nogil
    cdef void take(self, Py_ssize_t unit) noexcept nogil
    cdef void put_back(self, Py_ssize_t unit) noexcept nogil
    cdef void move(self, Py_ssize_t unit, int sign) noexcept nogil
    cdef void wait(self, int sign) noexcept nogil
    cdef int64_t strain(self, Py_ssize_t unit, int sign) noexcept nogil
    cdef bint can_stay(self, Py_ssize_t unit) noexcept nogil
    cdef bint keeps(self, Py_ssize_t node, Py_ssize_t piece) noexcept nogil
    cdef int64_t capacity(self, Py_ssize_t shape, Py_ssize_t node) noexcept nogil
    cdef void add(self, Py_ssize_t shape, Py_ssize_t node, int64_t members) noexcept nogil
    cdef void assume(self, int32_t[:, ::1] placement) noexcept nogil
    cdef void clear(self) noexcept nogil
    cdef void move_tokens(self, Py_ssize_t node, Py_ssize_t piece, int sign) noexcept nogil
    cdef void add_tokens(self, Py_ssize_t shape, Py_ssize_t node, int32_t members) noexcept nogil
    cdef bint conflicts(self, Py_ssize_t node, Py_ssize_t piece) noexcept nogil
    cdef int64_t beside(self, Py_ssize_t shape, Py_ssize_t node) noexcept nogil
    cdef Score score(self, int32_t* victims, Py_ssize_t count) noexcept nogil
    cdef bint is_dearer(self, Py_ssize_t index, Py_ssize_t other) noexcept nogil
