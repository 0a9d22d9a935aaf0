from libc.stdint cimport int32_t, int64_t, uint8_t


cdef struct Share:
    bint borrowing  # of any FR, even one that nobody lends
    bint infinite
    double ratio, weighted


cdef int compare(Share* one, Share* other) noexcept nogil


cdef class Tree:
    # The quotas, as in native/quota/quotas.py.
    cdef const int32_t[::1] parent
    cdef const int64_t[:, ::1] nominal, borrowing_limit, lending_limit
    cdef const double[::1] weight
    cdef readonly Py_ssize_t nodes, queues, frs

    # What follows. `below`: defined at the node or below it; `listed`: FRs, those of a resource together.
    cdef int64_t[:, ::1] subtree, local, potential, lendable
    cdef uint8_t[:, ::1] below
    cdef int32_t[::1] height, child, first_child, listed, first_listed

    cdef void settle(self, Py_ssize_t node) noexcept nogil
    cdef void settle_down(self, Py_ssize_t node) noexcept nogil
    cdef int64_t unused(self, const int64_t* usage, Py_ssize_t node, Py_ssize_t fr) noexcept nogil
    cdef int64_t reach(self, const int64_t* usage, Py_ssize_t node, Py_ssize_t fr) noexcept nogil
    cdef int64_t available(self, const int64_t* usage, Py_ssize_t node, Py_ssize_t fr) noexcept nogil
    cdef void add(self, int64_t* usage, Py_ssize_t node, Py_ssize_t fr, int64_t amount) noexcept nogil
    cdef void remove(self, int64_t* usage, Py_ssize_t node, Py_ssize_t fr, int64_t amount) noexcept nogil
    cdef bint exceeded(self, const int64_t* usage, Py_ssize_t node, Py_ssize_t fr,
                       int64_t more) noexcept nogil
    cdef Py_ssize_t level(self, const int64_t* usage, Py_ssize_t node, Py_ssize_t fr, int64_t amount,
                          bint* more) noexcept nogil
    cdef Share share(self, const int64_t* usage, Py_ssize_t node) noexcept nogil
