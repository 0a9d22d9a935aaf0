from libc.stdint cimport int32_t, int64_t, uint8_t

from native.nodes._domain cimport Domain
from native.nodes._packing cimport Packer


cdef struct Cost:
    int64_t violations, priorities, pods, age, members


cdef class Placer:
    cdef Domain domain
    cdef Packer packer
    cdef uint8_t[::1] needed, stale, budgeted, handled
    cdef int64_t[::1] evicted, before
    cdef int64_t[::1] budget_most, most_drawn
    cdef int32_t[::1] victims, budget_nodes, budget_node
    cdef Py_ssize_t found
    cdef int32_t[::1] first_gone  # of each node: see Domain.first_gone_on
    cdef int32_t[::1] chosen  # the units that are needed
    cdef Py_ssize_t count
    cdef int32_t[::1] heap, position, dirty
    cdef Py_ssize_t size, dirt
    cdef Cost[::1] costs

    cdef bint place(self, bint batches, bint shared) noexcept nogil
    cdef bint place_shape(self, Py_ssize_t shape, bint batches, bint shared) noexcept nogil
    cdef Py_ssize_t cheapest(self, Py_ssize_t shape, int64_t most, bint shared) noexcept nogil
    cdef void refresh(self, Py_ssize_t shape, Py_ssize_t node, int64_t most, bint shared) noexcept nogil
    cdef bint goes_first(self, Py_ssize_t one, Py_ssize_t other) noexcept nogil
    cdef void swap(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil
    cdef void rise(self, Py_ssize_t i) noexcept nogil
    cdef void sink(self, Py_ssize_t i) noexcept nogil
    cdef void mark(self, Py_ssize_t node) noexcept nogil
    cdef Cost best_batch(self, Py_ssize_t shape, Py_ssize_t node, int64_t most, bint shared) noexcept nogil
    cdef void marginal(self, Py_ssize_t shape, Py_ssize_t node, int64_t members) noexcept nogil
    cdef void reprieve(self, Py_ssize_t node, bint strained) noexcept nogil
    cdef Cost cost(self, int64_t members, bint shared) noexcept nogil
    cdef int64_t strain(self, Py_ssize_t unit) noexcept nogil
    cdef void evict(self, Py_ssize_t unit, int sign) noexcept nogil
    cdef void commit(self, Py_ssize_t shape, Py_ssize_t node, int64_t members) noexcept nogil
    cdef void forget(self) noexcept nogil
    cdef void draw(self, Py_ssize_t unit) noexcept nogil
