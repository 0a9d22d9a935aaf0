from libc.stdint cimport int32_t, int64_t, uint64_t

from native.nodes._changes cimport Changes
from native.nodes._domain cimport Score
from native.nodes._needs cimport Need


cdef class Improver(Changes):
    cdef Score now, best
    cdef uint64_t random
    cdef int64_t whole, span
    cdef int64_t violation, unit  # what one more counts

    # The best plan.
    cdef int32_t[::1] best_victims
    cdef int32_t[:, ::1] best_placed
    cdef Py_ssize_t best_count

    # What every plan costs at least, if that is known, and whether the best one costs no more.
    cdef Score floor
    cdef bint has_floor, reached

    # The nodes that this step looks at.
    cdef int32_t[::1] looked
    cdef Py_ssize_t looks

    cdef void begin(self, int32_t* victims, Py_ssize_t count, int32_t[:, ::1] placement) noexcept nogil
    cdef bint improve(self, int64_t work, int64_t ceiling, int64_t enough) noexcept nogil
    cdef void weigh(self, int64_t ceiling, int64_t enough) noexcept nogil
    cdef bint lower(self, int64_t ceiling) noexcept nogil
    cdef void keep(self) noexcept nogil
    cdef uint64_t draw(self, uint64_t below) noexcept nogil
    cdef void prepare(self) noexcept nogil
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
    cdef Need cheapest(self, Py_ssize_t shape, Py_ssize_t* best) noexcept nogil
    cdef void commit(self, Py_ssize_t shape, Py_ssize_t node, int64_t members) noexcept nogil
    cdef void reprieve(self) noexcept nogil
    cdef Py_ssize_t short_of(self, Py_ssize_t unit) noexcept nogil
    cdef bint exchange(self, Py_ssize_t unit) noexcept nogil
    cdef void finish(self) noexcept nogil
