from libc.stdint cimport int32_t, int64_t

from native.nodes._domain cimport Domain
from native.nodes._needs cimport Needs


cdef class Changes:
    cdef Domain domain
    cdef Needs needs
    cdef int64_t left  # the work

    # The victims, and the place of each in that list (-1: it stays).
    cdef int32_t[::1] victims, place
    cdef Py_ssize_t count

    # Members of this step without a node.
    cdef int32_t[::1] lacking

    # What this step has changed: a unit (-1: members of a shape on a node), and by how much.
    cdef int32_t[::1] log_unit, log_shape, log_node, log_members
    cdef Py_ssize_t logged

    cdef void take(self, Py_ssize_t unit) noexcept nogil
    cdef void put_back(self, Py_ssize_t unit) noexcept nogil
    cdef void touch(self, Py_ssize_t unit) noexcept nogil
    cdef void add(self, Py_ssize_t shape, Py_ssize_t node, int32_t members) noexcept nogil
    cdef void log(self, Py_ssize_t unit, Py_ssize_t shape, Py_ssize_t node, int32_t members) noexcept nogil
    cdef void undo(self) noexcept nogil
