from libc.stdint cimport int32_t, int64_t

from native.nodes._domain cimport Domain

cdef class Packer:
    cdef Domain domain
    cdef int64_t budget
    cdef int32_t[:, ::1] answer
    cdef int32_t[::1] order
    cdef Py_ssize_t ordered

    # The table of several shapes.
    cdef int32_t[::1] rarer
    cdef int64_t[::1] strides, volume
    cdef Py_ssize_t dimensions, last
    cdef int64_t cells, spent, most, steps
    cdef int32_t* table
    cdef int32_t* grown
    cdef int32_t* choices

    cdef int pack(self) noexcept nogil
    cdef bint first_fit(self) noexcept nogil
    cdef bint tightest_fit(self) noexcept nogil
    cdef bint has_volume(self) noexcept nogil
    cdef void largest_first(self) noexcept nogil
    cdef void keep(self) noexcept nogil
    cdef bint hardest_first(self) noexcept nogil
    cdef int search_table(self) noexcept nogil
    cdef bint lay_out(self) noexcept nogil
    cdef int fill(self) noexcept nogil
    cdef bint packings(self, Py_ssize_t node, Py_ssize_t depth, int64_t offset, int32_t* way) noexcept nogil
    cdef void extend(self, Py_ssize_t node, int64_t offset, int32_t* choice) noexcept nogil
    cdef void trace(self, Py_ssize_t node) noexcept nogil
