from libc.stdint cimport int32_t, uint8_t

from native.quota._search cimport Search
from native.quota._tree cimport Share, Tree
from native.quota._wish cimport Wish


cdef class Fair(Search):
    cdef int32_t[::1] strategies
    cdef Py_ssize_t root
    cdef uint8_t[::1] path  # [nodes] the ClusterQueue that asks and what is above it
    cdef uint8_t[::1] pruned, known  # [nodes]
    cdef Share* shares  # [nodes], of those that are `known`
    cdef int32_t[::1] next, end  # [queues] what is left of the ClusterQueue's part of `listed`
    cdef int32_t[::1] first, refused  # [queues] where its part begins; how many of it are to be tried again
    cdef int32_t[::1] listed  # slots, ClusterQueue by ClusterQueue

    cdef void list_candidates(self) noexcept nogil
    cdef void want(self, bint want) noexcept nogil
    cdef void forget(self, Py_ssize_t node) noexcept nogil
    cdef Share* share(self, Py_ssize_t node) noexcept nogil
    cdef bint left(self, Py_ssize_t queue) noexcept nogil
    cdef Py_ssize_t pop(self, Py_ssize_t queue) noexcept nogil
    cdef Py_ssize_t next_queue(self) noexcept nogil
    cdef Py_ssize_t choose(self, Py_ssize_t cohort) noexcept nogil
    cdef bint head_first(self, Py_ssize_t one, Py_ssize_t other) noexcept nogil
    cdef bint in_tree(self, Py_ssize_t node) noexcept nogil
    cdef Py_ssize_t rival(self, Py_ssize_t queue) noexcept nogil
    cdef Py_ssize_t own_side(self, Py_ssize_t rival) noexcept nogil
    cdef bint fits_without(self, Py_ssize_t queue, Py_ssize_t slot, int reason) noexcept nogil
    cdef bint take_from(self, Py_ssize_t queue, bint entitled) noexcept nogil
    cdef bint passes(self, Py_ssize_t queue, Py_ssize_t slot, Py_ssize_t rival) noexcept nogil
    cdef bint first_pass(self) noexcept nogil
    cdef bint second_pass(self) noexcept nogil
    cdef void again(self) noexcept nogil
