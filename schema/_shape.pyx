# cython: language_level=3
# cython: freethreading_compatible=True
"""One look at a decoded JSON value: how deep it is, and whether it is surely of a type."""

from cython cimport final


cdef enum Kind:
    ANYTHING
    OBJECT
    ARRAY
    BOOLEAN
    LEAF


cdef Py_ssize_t LONGEST = 64

KINDS = {"object": OBJECT, "array": ARRAY, "boolean": BOOLEAN}
TEXTS = {"string", "date-time", "integer or string", "quantity"}
INTEGERS = {"integer", "number", "integer or string", "quantity"}


@final
cdef class Shape:

    cdef Kind kind
    cdef bint texts, integers, floats
    cdef dict fields
    cdef Shape every
    cdef object check

    def __init__(self, str kind, dict fields, Shape every, check):
        self.texts = kind in TEXTS
        self.integers = kind in INTEGERS
        self.floats = kind == "number"
        self.kind = LEAF if self.texts or self.integers else KINDS.get(kind, ANYTHING)
        self.fields = fields
        self.every = every
        self.check = check

    def fits(self, value):
        return self._fits(value)

    cdef bint _fits(self, value) except -1:
        if value is None or self.kind == ANYTHING:
            return True
        if self.kind == OBJECT:
            return type(value) is dict and self._fits_object(<dict> value)
        if self.kind == ARRAY:
            return type(value) is list and self._fits_array(<list> value)
        if self.kind == BOOLEAN:
            return type(value) is bool
        if type(value) is str:
            return self.texts and (self.check is None or (len(<str> value) <= LONGEST and self.check(value)))
        return (type(value) is int and self.integers) or (type(value) is float and self.floats)

    cdef bint _fits_object(self, dict value) except -1:
        cdef Shape shape
        for name, item in value.items():
            shape = self.fields.get(name, self.every)
            if shape is not None and not shape._fits(item):
                return False
        return True

    cdef bint _fits_array(self, list value) except -1:
        if self.every is not None:
            for item in value:
                if not self.every._fits(item):
                    return False
        return True


def nested_deeper(value, int limit):
    return _nested_deeper(value, limit)


cdef bint _nested_deeper(value, int limit) except -1:
    if type(value) is dict:
        if limit == 0:
            return True
        for item in (<dict> value).values():
            if (type(item) is dict or type(item) is list) and _nested_deeper(item, limit - 1):
                return True
    elif type(value) is list:
        if limit == 0:
            return True
        for item in <list> value:
            if (type(item) is dict or type(item) is list) and _nested_deeper(item, limit - 1):
                return True
    return False
