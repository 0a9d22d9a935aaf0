# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""The holders of quota of one ClusterQueue, kept in the order in which they are preempted.

That order does not depend on the preemptor: on their way out first, then lower priorities, then later
reservations, then UIDs (Kueue's CandidatesOrdering). An event moves one of them; a search merges
what is sorted already.

See docs/decisions/0009.
"""

import numpy as np

from libc.string cimport memmove


cdef int before(const Key* one, const Key* other) noexcept nogil:
    """Negative if `one` goes first, 0 only for the same."""
    if one.evicting != other.evicting:
        return -1 if one.evicting > other.evicting else 1
    if one.priority != other.priority:
        return -1 if one.priority < other.priority else 1
    if one.reserved != other.reserved:
        return -1 if one.reserved > other.reserved else 1
    return (one.order > other.order) - (one.order < other.order)


cdef class Block:
    """The holders of one ClusterQueue; written to only by its owner, shared with others until then."""

    def __init__(self, owner):
        self.owner = owner
        self.holders, self.free = [], []
        self.keys = np.empty((0, 4), np.int64)
        self.queued = np.empty(0, np.int64)
        self.order = np.empty(0, np.int32)
        self.frs = np.empty((0, 0), np.int32)
        self.amounts = np.empty((0, 0), np.int64)
        self.point()

    cdef Block copy(self, object owner):
        cdef Block copy = Block.__new__(Block)
        copy.owner, copy.slots = owner, self.slots
        copy.view = self.view
        copy.holders, copy.free = self.holders.copy(), self.free.copy()
        # By NumPy: a slice without elements cannot copy itself.
        copy.keys, copy.queued, copy.order = np.array(self.keys), np.array(self.queued), np.array(self.order)
        copy.frs, copy.amounts = np.array(self.frs), np.array(self.amounts)
        copy.point()
        return copy

    cdef void point(self):
        self.view.width = self.frs.shape[1]
        self.view.sorted = &self.order[0] if self.order.shape[0] else NULL
        self.view.keys = <const Key*>&self.keys[0, 0] if self.keys.shape[0] else NULL
        self.view.queued = &self.queued[0] if self.queued.shape[0] else NULL
        self.view.frs = &self.frs[0, 0] if self.frs.shape[0] and self.view.width else NULL
        self.view.amounts = &self.amounts[0, 0] if self.frs.shape[0] and self.view.width else NULL

    cdef void grow(self, Py_ssize_t slots, Py_ssize_t width):
        frs = np.full((slots, width), -1, np.int32)
        amounts = np.zeros((slots, width), np.int64)
        keys, queued = np.empty((slots, 4), np.int64), np.empty(slots, np.int64)
        order = np.empty(slots, np.int32)
        if self.slots:
            frs[: self.slots, : self.view.width] = self.frs[: self.slots]
            amounts[: self.slots, : self.view.width] = self.amounts[: self.slots]
            keys[: self.slots], queued[: self.slots] = self.keys[: self.slots], self.queued[: self.slots]
            order[: self.slots] = self.order[: self.slots]
        self.frs, self.amounts, self.keys, self.queued, self.order = frs, amounts, keys, queued, order
        self.point()

    cdef Py_ssize_t place(self, const Key* key) noexcept nogil:
        """How many go before the key."""
        cdef Py_ssize_t low = 0, high = self.view.count, middle
        while low < high:
            middle = (low + high) // 2
            if before(&self.view.keys[self.view.sorted[middle]], key) < 0:
                low = middle + 1
            else:
                high = middle
        return low

    cdef bint holds(self, Py_ssize_t place, const Key* key) noexcept nogil:
        return place < self.view.count and before(&self.view.keys[self.view.sorted[place]], key) == 0

    cdef void insert(self, Key key, int64_t queued, object holder, list frs, list amounts):
        cdef Py_ssize_t place = self.place(&key), slot, i, width = len(frs)
        if width > self.view.width:
            self.grow(self.keys.shape[0], width)
        if self.free:
            slot = self.free.pop()
            self.holders[slot] = holder
        else:
            slot = self.slots
            if slot == self.keys.shape[0]:
                self.grow(max(8, 2 * slot), self.view.width)
            self.slots += 1
            self.holders.append(holder)
        self.keys[slot, 0], self.keys[slot, 1] = key.evicting, key.priority
        self.keys[slot, 2], self.keys[slot, 3] = key.reserved, key.order
        self.queued[slot] = queued
        for i in range(width):
            self.frs[slot, i], self.amounts[slot, i] = frs[i], amounts[i]
        for i in range(width, self.view.width):
            self.frs[slot, i] = -1
        if place < self.view.count:
            memmove(&self.order[place + 1], &self.order[place], (self.view.count - place) * sizeof(int32_t))
        self.order[place] = <int32_t>slot
        self.view.count += 1
        self.view.evicting += key.evicting

    cdef object delete(self, Py_ssize_t place):
        cdef Py_ssize_t slot = self.order[place]
        holder = self.holders[slot]
        self.holders[slot] = None
        self.free.append(slot)
        self.view.count -= 1
        self.view.evicting -= self.keys[slot, 0]
        if place < self.view.count:
            memmove(&self.order[place], &self.order[place + 1], (self.view.count - place) * sizeof(int32_t))
        return holder
