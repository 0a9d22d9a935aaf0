from libc.stdint cimport int32_t, int64_t

from native.nodes._domain cimport Domain


cdef struct Need:
    int64_t strain, price, members


cdef class Needs:
    cdef Domain domain
    cdef int64_t step, ceiling, spent  # the work since somebody has asked last
    cdef bint shared

    # The step in which a unit was spared, and a node closed.
    cdef int64_t[::1] spared, closed

    # Of one node: what is missing, and who has to go for it.
    cdef int64_t[::1] missing
    cdef int32_t[::1] needed
    cdef Py_ssize_t count

    cdef Need of(self, Py_ssize_t shape, Py_ssize_t node, int64_t members) noexcept nogil
    cdef bint misses(self, Py_ssize_t shape, Py_ssize_t node, int64_t members) noexcept nogil
    cdef Py_ssize_t most_useful(self, Py_ssize_t node, int64_t* price) noexcept nogil
    cdef int64_t price(self, Py_ssize_t unit) noexcept nogil
