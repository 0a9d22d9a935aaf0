from libc.stdint cimport int32_t, int64_t, uint8_t

from native.nodes._bounds cimport Bound
from native.nodes._domain cimport Domain, Score
from native.nodes._floors cimport Floors
from native.nodes._improving cimport Improver
from native.nodes._packing cimport Packer
from native.nodes._placing cimport Placer

cdef class Plan:
    cdef int32_t[::1] victims
    cdef int32_t[:, ::1] placement
    cdef Py_ssize_t count
    cdef Score score

    cdef void copy(self, Plan other, Py_ssize_t first, Py_ssize_t end) noexcept nogil

cdef class Examiner:
    cdef Domain domain
    cdef Packer packer
    cdef Placer placer
    cdef Improver improver
    cdef Floors floors  # None: nobody asks for a proof
    cdef int64_t effort, left
    cdef uint8_t[::1] fixed
    cdef int64_t[::1] priorities
    cdef int32_t[::1] chosen
    cdef Plan best, kept
    cdef bint any_plan, nobody_goes

    # The work in all domains. Of the last one: whether all was tried, and no lower cut-off is possible.
    cdef int64_t work
    cdef bint ended, lowest

    cdef int examine(self, Py_ssize_t index, Bound* bound) noexcept nogil
    cdef int preempt(self, Bound* bound) noexcept nogil
    cdef bint is_best(self, Bound* bound) noexcept nogil
    cdef bint fits(self) noexcept nogil
    cdef void reprieve_budgets(self) noexcept nogil
    cdef void cutoff(self, int64_t* answer) noexcept nogil
    cdef Py_ssize_t list_priorities(self) noexcept nogil
    cdef void go(self, int64_t cutoff) noexcept nogil
    cdef bint attempt(self, int64_t cutoff) noexcept nogil
    cdef bint settle(self, int64_t cutoff) noexcept nogil
    cdef bint accept(self, Py_ssize_t count) noexcept nogil
    cdef void keep(self, Py_ssize_t count) noexcept nogil
    cdef void charge(self, int64_t work) noexcept nogil
    cdef void improve(self, int64_t cutoff) noexcept nogil
    cdef void lower(self, int64_t cutoff, int64_t work) noexcept nogil
    cdef bint lowers(self, int64_t cutoff, int64_t work) noexcept nogil
    cdef void descend(self, int64_t cutoff) noexcept nogil
    cdef void refine(self, int64_t work, int64_t ceiling, int64_t enough) noexcept nogil
    cdef void adopt(self) noexcept nogil
    cdef bint exact(self) noexcept nogil
    cdef void branch(self, Py_ssize_t depth, Py_ssize_t count, bint evicted) noexcept nogil
    cdef bint packs(self) noexcept nogil
