from libc.stdint cimport int32_t, int64_t

from native.nodes._domain cimport Domain, Score


cdef struct Price:
    int64_t priorities, units, pods, age


cdef class Floors:
    cdef Domain domain
    cdef const int64_t[:, ::1] free
    cdef int64_t cutoff, most_members

    # Cells: how many members of each shape. The last one is all members.
    cdef Py_ssize_t cells
    cdef int32_t[:, ::1] members  # [cells, S]
    cdef int64_t[:, ::1] wanted  # [cells, R]

    # By node of the domain and cell: what the node costs at least; NEVER if it cannot take them.
    cdef Price[:, ::1] prices
    cdef Price[::1] sums  # [cells], the least for as many members on all nodes looked at
    cdef int32_t[::1] possible
    cdef int64_t work

    # One node: the units that could be evicted there, the cheapest first.
    cdef Py_ssize_t count, apart
    cdef int32_t[::1] units, pieces
    cdef int64_t[::1] parts  # of how many nodes of the domain the unit is on; `apart` is 1 if none has several
    cdef int64_t[::1] running  # [count + 1], the sum of the first prices
    cdef int64_t[::1] latest  # [count + 1], the least age of the units from there on
    cdef int64_t[:, ::1] largest, rest  # [count + 1, R], of the units from there on
    cdef int64_t[::1] missing, emptied
    cdef Price least
    cdef int64_t most, steps, limit

    cdef list_cells(self, problem)
    cdef bint find(self, Score* best, Score* floor) noexcept nogil
    cdef void list_units(self, Py_ssize_t node) noexcept nogil
    cdef void list_unit(self, Py_ssize_t unit, Py_ssize_t piece) noexcept nogil
    cdef int64_t price(self, Py_ssize_t i) noexcept nogil
    cdef bint admits(self, Py_ssize_t node, Py_ssize_t cell) noexcept nogil
    cdef void lack(self, Py_ssize_t node, Py_ssize_t cell) noexcept nogil
    cdef Py_ssize_t fewest(self, Py_ssize_t i) noexcept nogil
    cdef Price at_least(self, Py_ssize_t i, Price so_far, Py_ssize_t units) noexcept nogil
    cdef bint sum_up(self) noexcept nogil
    cdef void add_node(self, Py_ssize_t node) noexcept nogil
    cdef bint contains(self, Py_ssize_t cell, Py_ssize_t part) noexcept nogil
    cdef void refine(self, Score* best) noexcept nogil
    cdef Price exactly(self, Py_ssize_t node, Py_ssize_t cell, int64_t most) noexcept nogil
    cdef void choose(self, Py_ssize_t i, Price so_far) noexcept nogil
