from libc.stdint cimport int64_t

from native.nodes._domain cimport Domain
from native.nodes._packing cimport Packer


cdef struct Bound:
    int status  # of the packing with the units up to the cut-off gone; INFEASIBLE: with everybody gone
    int64_t cutoff, priorities
    Py_ssize_t domain


cdef bint before(Bound* one, Bound* other) noexcept nogil


cdef class Bounds:
    cdef Domain domain
    cdef Packer packer
    cdef int64_t[::1] places, missing, largest

    cdef Bound of(self, Py_ssize_t index) noexcept nogil
    cdef void sweep(self, Bound* bound) noexcept nogil
    cdef void free(self, Py_ssize_t unit) noexcept nogil
    cdef bint lacks(self) noexcept nogil
    cdef void let_go(self, Py_ssize_t unit) noexcept nogil
    cdef void count(self, Py_ssize_t node, int sign) noexcept nogil
    cdef bint enough(self) noexcept nogil
    cdef int64_t fewest(self) noexcept nogil
    cdef int64_t cheapest(self, int64_t units) noexcept nogil
