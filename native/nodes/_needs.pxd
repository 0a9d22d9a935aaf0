from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from native.nodes._domain cimport Domain


cdef struct Need:
    int64_t strain, price, members


cdef struct Memory:
    Need need
    int64_t state, most  # the state of the node, and the most members that were looked at
    int64_t step  # in which they were
    uint64_t pieces  # the victims, as bits in the node's list of pieces


cdef class Needs:
    cdef Domain domain
    cdef int64_t step, ceiling, spent  # the work since the last question
    cdef bint shared, batches

    # The state of each node, and the one before this step. Nodes where the two differ.
    cdef int64_t[::1] state, base
    cdef int64_t states
    cdef int32_t[::1] touched
    cdef Py_ssize_t touches
    cdef Memory[:, :, :, ::1] memory  # by shape, node, way to count, and two of each

    # The step in which a unit was spared, and a node closed.
    cdef int64_t[::1] spared, closed

    # Of one node: what is missing, and the victims for it.
    cdef int64_t[::1] missing
    cdef int32_t[::1] needed
    cdef Py_ssize_t count
    cdef uint64_t pieces

    # Of one node: the units that could be evicted, by their places in its list, with their pieces and prices.
    cdef int32_t[::1] place, piece
    cdef int64_t[::1] price
    cdef uint8_t[::1] goes
    cdef Py_ssize_t candidates, last
    cdef int64_t[::1] emptied  # the room without them

    cdef void forget(self) noexcept nogil
    cdef void touch(self, Py_ssize_t node) noexcept nogil
    cdef void restore(self) noexcept nogil
    cdef void settle(self) noexcept nogil
    cdef Need least(self, Py_ssize_t shape, Py_ssize_t node, int64_t most) noexcept nogil
    cdef bint recalls(self, Memory* memory, Py_ssize_t node, int64_t most) noexcept nogil
    cdef Memory weigh(self, Py_ssize_t shape, Py_ssize_t node, int64_t most) noexcept nogil
    cdef int64_t strain(self, Memory* memory, Py_ssize_t node) noexcept nogil
    cdef void list_candidates(self, Py_ssize_t node) noexcept nogil
    cdef int64_t possible(self, Py_ssize_t shape, Py_ssize_t node) noexcept nogil
    cdef Need of(self, Py_ssize_t shape, Py_ssize_t node, int64_t members) noexcept nogil
    cdef bint misses(self, Py_ssize_t shape, Py_ssize_t node, int64_t members) noexcept nogil
    cdef Py_ssize_t most_useful(self) noexcept nogil
    cdef int64_t price_of(self, Py_ssize_t unit) noexcept nogil
