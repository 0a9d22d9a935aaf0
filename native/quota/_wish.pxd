from libc.stdint cimport int32_t, int64_t, uint8_t

from native.quota._holders cimport View
from native.quota._tree cimport Tree


cdef class Wish:
    # The ask, as in native/quota/quotas.py.
    cdef Py_ssize_t queue, count
    cdef int64_t priority, queued, now, threshold, min_admit
    cdef int within, reclaim
    cdef bint borrow, time_based
    cdef int32_t[::1] frs
    cdef int64_t[::1] amounts
    cdef uint8_t[::1] contested  # [count]
    cdef uint8_t[::1] fought  # [FRs], 1 where contested
    cdef uint8_t[::1] closed  # [queues]

    # Candidates of the own ClusterQueue: slots in the order in which they go, those on their way out first.
    cdef int32_t[::1] own
    cdef Py_ssize_t own_count, own_evicting

    cdef bint uses(self, const View* view, Py_ssize_t slot) noexcept nogil
    cdef bint expired(self, const View* view, Py_ssize_t slot) noexcept nogil
    cdef int own_kind(self, const View* view, Py_ssize_t slot) noexcept nogil
    cdef bint candidate(self, const View* view, Py_ssize_t slot) noexcept nogil
    cdef int own_reason(self, const View* view, Py_ssize_t slot) noexcept nogil
    cdef void list_own(self, const View* view) noexcept nogil
    cdef void list_part(self, const View* view, Py_ssize_t first, Py_ssize_t end) noexcept nogil
    cdef void oldest_first(self, const View* view, Py_ssize_t first) noexcept nogil
    cdef bint exceeds(self, Tree tree, const int64_t* usage, Py_ssize_t node) noexcept nogil
    cdef bint fits(self, Tree tree, const int64_t* usage, bint borrowing) noexcept nogil
