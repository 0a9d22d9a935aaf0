from libc.stdint cimport int32_t, int64_t, uint64_t

from native.nodes._domain cimport Domain, Score
from native.nodes._needs cimport Need, Needs


cdef class Improver:
    cdef Domain domain
    cdef Needs needs
    cdef Score now, best
    cdef uint64_t random
    cdef int64_t whole, left, span
    cdef bint batches

    # The victims, and the place of each in that list (-1: it stays).
    cdef int32_t[::1] victims, place
    cdef Py_ssize_t count

    # The best plan.
    cdef int32_t[::1] best_victims
    cdef int32_t[:, ::1] best_placed
    cdef Py_ssize_t best_count

    # What this step has changed: a unit (-1: members of a shape on a node), and by how much.
    cdef int32_t[::1] log_unit, log_shape, log_node, log_members
    cdef Py_ssize_t logged

    # Of this step: members without a node, nodes that are looked at, and what each of them needs.
    cdef int32_t[::1] lacking, looked
    cdef Py_ssize_t looks
    cdef Need[::1] cost

    cdef void begin(self, int32_t* victims, Py_ssize_t count, int32_t[:, ::1] placement) noexcept nogil
    cdef bint improve(self, int64_t work, int64_t ceiling, int64_t enough) noexcept nogil
    cdef void keep(self) noexcept nogil
    cdef uint64_t draw(self, uint64_t below) noexcept nogil
    cdef void take(self, Py_ssize_t unit) noexcept nogil
    cdef void put_back(self, Py_ssize_t unit) noexcept nogil
    cdef void add(self, Py_ssize_t shape, Py_ssize_t node, int32_t members) noexcept nogil
    cdef void log(self, Py_ssize_t unit, Py_ssize_t shape, Py_ssize_t node, int32_t members) noexcept nogil
    cdef void undo(self) noexcept nogil
    cdef void step(self) noexcept nogil
    cdef bint bears(self, Score* score) noexcept nogil
    cdef void ruin(self) noexcept nogil
    cdef void empty_nodes(self, Py_ssize_t many) noexcept nogil
    cdef void spare(self, Py_ssize_t unit) noexcept nogil
    cdef void displace(self, Py_ssize_t node, Py_ssize_t piece) noexcept nogil
    cdef Py_ssize_t node_of(self, Py_ssize_t unit) noexcept nogil
    cdef Py_ssize_t unit_on(self, Py_ssize_t node) noexcept nogil
    cdef bint recreate(self) noexcept nogil
    cdef bint recreate_shape(self, Py_ssize_t shape) noexcept nogil
    cdef void look(self) noexcept nogil
    cdef Py_ssize_t cheapest(self, Py_ssize_t shape) noexcept nogil
    cdef bint commit(self, Py_ssize_t shape, Py_ssize_t node) noexcept nogil
    cdef void weigh(self, Py_ssize_t shape, Py_ssize_t node) noexcept nogil
    cdef Need need(self, Py_ssize_t shape, Py_ssize_t node, int64_t members) noexcept nogil
    cdef void reprieve(self) noexcept nogil
    cdef Py_ssize_t short_of(self, Py_ssize_t unit) noexcept nogil
    cdef bint exchange(self, Py_ssize_t unit) noexcept nogil
    cdef void finish(self) noexcept nogil
