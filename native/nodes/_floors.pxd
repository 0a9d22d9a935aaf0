from libc.stdint cimport int32_t, int64_t, uint8_t

from native.nodes._domain cimport Domain, Score


cdef struct Price:
    int64_t priorities, units, pods, age


cdef class Floors:
    cdef Domain domain
    cdef const int64_t[:, ::1] free
    cdef int64_t cutoff
    cdef Price known  # of the best plan so far

    # Cells: how many members of each shape. The last one is all members.
    cdef Py_ssize_t cells
    cdef int32_t[:, ::1] members  # [cells, S]
    cdef int64_t[:, ::1] wanted  # [cells, R]

    # By node of the domain and cell: what the node costs at least; NEVER if it cannot take them.
    cdef Price[:, ::1] prices  # the units that are on several nodes stay
    cdef Price[:, ::1] freed  # they go, and cost nothing; only on nodes that have some
    cdef uint8_t[::1] shared  # the node has some

    # By cell, the least for as many members: on all nodes; on those of one unit; with the cheapest such unit.
    cdef Price[::1] sums, parts, paid
    cdef int32_t[::1] possible
    cdef int64_t work

    # One node: the units that could be evicted there, the cheapest first.
    cdef Py_ssize_t count
    cdef int32_t[::1] units, pieces
    cdef int64_t[::1] running  # [count + 1], the sum of the first prices
    cdef int64_t[::1] latest  # [count + 1], the least age of the units from there on
    cdef int64_t[:, ::1] largest, rest  # [count + 1, R], of the units from there on
    cdef int64_t[::1] missing, room, emptied
    cdef Price least
    cdef int64_t most, steps, limit

    cdef list_cells(self, problem, nodes)
    cdef bint find(self, Score* best, Score* floor) noexcept nogil
    cdef void price_nodes(self) noexcept nogil
    cdef void price_node(self, Py_ssize_t node, Price* prices) noexcept nogil
    cdef bint list_units(self, Py_ssize_t node, bint frees) noexcept nogil
    cdef bint is_on_several(self, Py_ssize_t unit) noexcept nogil
    cdef void sum_units(self) noexcept nogil
    cdef int64_t age_of(self, Py_ssize_t unit) noexcept nogil
    cdef bint admits(self, Py_ssize_t node, Py_ssize_t cell) noexcept nogil
    cdef void lack(self, Py_ssize_t cell) noexcept nogil
    cdef Py_ssize_t fewest(self, Py_ssize_t i) noexcept nogil
    cdef Price at_least(self, Py_ssize_t i, Price so_far, Py_ssize_t units) noexcept nogil
    cdef bint sum_up(self) noexcept nogil
    cdef void begin(self, Price[::1] sums) noexcept nogil
    cdef void add_node(self, Price[::1] sums, Price* prices) noexcept nogil
    cdef void lower(self, Price[::1] sums, Py_ssize_t cell, Py_ssize_t part, Price* price) noexcept nogil
    cdef bint pay_others(self) noexcept nogil
    cdef void pay(self, Py_ssize_t unit) noexcept nogil
    cdef void refine(self) noexcept nogil
    cdef void refine_node(self, Price* prices) noexcept nogil
    cdef Price exactly(self, Price bound, int64_t most) noexcept nogil
    cdef void choose(self, Py_ssize_t i, Price so_far) noexcept nogil
