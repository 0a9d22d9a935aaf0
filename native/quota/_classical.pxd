from libc.stdint cimport int32_t, int64_t

from native.quota._holders cimport Key, View
from native.quota._search cimport Search
from native.quota._tree cimport Tree
from native.quota._wish cimport Wish


cdef struct Source:  # a ClusterQueue that borrows, and how far its holders have been looked at
    int32_t queue, next, end  # places in the order of its holders
    int32_t common  # the lowest Cohort that it shares with the ClusterQueue that asks
    bint advantage  # of the preemptor, by the hierarchy


cdef class Classical(Search):
    cdef Source* sources
    cdef int32_t* heap
    cdef Py_ssize_t source_count, heaped
    cdef int64_t[:, ::1] saved
    cdef int64_t[::1] left

    cdef bint under_nominal(self) noexcept nogil
    cdef void find_sources(self) noexcept nogil
    cdef bint suffices(self, Py_ssize_t node) noexcept nogil
    cdef void collect(self, Py_ssize_t cohort, Py_ssize_t common, Py_ssize_t seen,
                      bint advantage) noexcept nogil
    cdef bint anybody(self, const View* view) noexcept nogil
    cdef bint succeeds(self, bint borrowing) noexcept nogil
    cdef bint take_own(self, bint leaving) noexcept nogil
    cdef bint merge(self, bint advantage, bint leaving) noexcept nogil
    cdef void gather(self, bint advantage, bint leaving) noexcept nogil
    cdef void seek(self, Source* source) noexcept nogil
    cdef const Key* head(self, Py_ssize_t place) noexcept nogil
    cdef void sink(self, Py_ssize_t place) noexcept nogil
    cdef int judge(self, Source* source, Py_ssize_t slot) noexcept nogil
    cdef bint only_without_borrowing(self, Py_ssize_t queue, Py_ssize_t slot) noexcept nogil
    cdef int reason(self, Source* source, Py_ssize_t slot) noexcept nogil
