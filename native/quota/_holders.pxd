from libc.stdint cimport int32_t, int64_t, uint8_t


cdef struct Key:  # in the order in which holders go: ascending but for `reserved`
    int64_t evicting, priority, reserved, order


cdef struct View:  # a block without Python: as long as the block lives and is not written to
    Py_ssize_t count, evicting, width
    const int32_t* sorted  # [count] slots, those of the first `evicting` are on their way out
    const Key* keys
    const int64_t* queued
    const int32_t* frs  # [slots, width], -1 after the last
    const int64_t* amounts


cdef int before(const Key* one, const Key* other) noexcept nogil


cdef class Block:
    cdef View view
    cdef object owner
    cdef Py_ssize_t slots
    cdef readonly list holders
    cdef list free
    cdef int64_t[:, ::1] keys, amounts
    cdef int64_t[::1] queued
    cdef int32_t[:, ::1] frs
    cdef int32_t[::1] order

    cdef Block copy(self, object owner)
    cdef void point(self)
    cdef void grow(self, Py_ssize_t slots, Py_ssize_t width)
    cdef Py_ssize_t place(self, const Key* key) noexcept nogil
    cdef bint holds(self, Py_ssize_t place, const Key* key) noexcept nogil
    cdef void insert(self, Key key, int64_t queued, object holder, list frs, list amounts)
    cdef object delete(self, Py_ssize_t place)
