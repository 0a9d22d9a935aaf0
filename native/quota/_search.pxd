from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

from native.quota._holders cimport View
from native.quota._tree cimport Tree
from native.quota._wish cimport Wish


cdef struct Target:
    int32_t queue, slot
    int32_t reason


cdef struct Step:
    int32_t queue, slot
    int8_t attempt, borrowing, what


cdef class Search:
    cdef Tree tree
    cdef Wish wish
    cdef const View* views
    cdef int64_t[:, ::1] table
    cdef int64_t* usage  # changed while searching
    cdef Target* targets
    cdef Py_ssize_t count, room
    cdef Step* steps
    cdef Py_ssize_t step_count, step_room
    cdef int8_t attempt
    cdef bint tracing, borrowing, exhausted

    cdef bint run(self) noexcept nogil
    cdef void move(self, Py_ssize_t queue, Py_ssize_t slot, bint back) noexcept nogil
    cdef void take(self, Py_ssize_t queue, Py_ssize_t slot, int reason) noexcept nogil
    cdef void note(self, Py_ssize_t queue, Py_ssize_t slot, int what) noexcept nogil
    cdef void fill_back(self) noexcept nogil
    cdef bint own_target(self) noexcept nogil
