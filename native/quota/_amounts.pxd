# cython: language_level=3
# Amounts of quota: 64 bits that neither wrap nor, short of UNLIMITED, end (Kueue's pkg/resources/amount.go).
from libc.stdint cimport INT64_MAX, INT64_MIN, int64_t


cdef inline int64_t plus(int64_t one, int64_t other) noexcept nogil:
    if one == INT64_MAX or other == INT64_MAX:
        return INT64_MAX
    if other > 0 and one > INT64_MAX - 1 - other:
        return INT64_MAX - 1
    if other < 0 and one < INT64_MIN - other:
        return INT64_MIN
    return one + other


cdef inline int64_t minus(int64_t one, int64_t other) noexcept nogil:
    """Nothing that is limited has room for something that is not."""
    if one == INT64_MAX:
        return 0 if other == INT64_MAX else INT64_MAX
    if other == INT64_MAX:
        return INT64_MIN
    if other < 0 and one > INT64_MAX - 1 + other:
        return INT64_MAX - 1
    if other > 0 and one < INT64_MIN + other:
        return INT64_MIN
    return one - other
