# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""Who may be preempted for the preemptor: the policies of its ClusterQueue, and the order among its own kind.

What both searches, the classical and the fair one, have in common.
"""

import numpy as np

from native.codes cimport ANY, IN_CLUSTER_QUEUE, LOWER_OR_NEWER, NEVER, TIME_BASED
from native.quota._amounts cimport plus


cdef enum:  # of the own candidates, in this order
    STAYS = -1
    LOWER = 0
    EXPIRED = 1
    NEWER = 2


cdef class Wish:

    def __init__(self, ask, Tree tree):
        self.queue, self.priority, self.queued, self.now = ask.queue, ask.priority, ask.queued, ask.now
        self.within, self.reclaim, self.borrow = ask.within, ask.reclaim, ask.borrow
        self.threshold = ask.priority if ask.threshold is None else ask.threshold
        self.time_based = ask.min_admit is not None and ask.within == LOWER_OR_NEWER
        self.min_admit = ask.min_admit or 0
        self.count = len(ask.frs)
        self.frs = np.array(ask.frs, np.int32)
        self.amounts = np.array(ask.amounts, np.int64)
        self.contested = np.array(ask.contested, np.uint8)
        fought = np.zeros(tree.frs, np.uint8)
        fought[[fr for fr, contested in zip(ask.frs, ask.contested, strict=True) if contested]] = 1
        self.fought = fought
        closed = np.zeros(tree.queues, np.uint8)
        closed[list(ask.closed)] = 1
        self.closed = closed

    cdef bint uses(self, const View* view, Py_ssize_t slot) noexcept nogil:
        """Whether a holder uses any FR that is contested, however much of it."""
        cdef Py_ssize_t i
        cdef const int32_t* frs = view.frs + slot * view.width
        for i in range(view.width):
            if frs[i] < 0:
                return False
            if self.fought[frs[i]]:
                return True
        return False

    cdef bint expired(self, const View* view, Py_ssize_t slot) noexcept nogil:
        """KEP-8522: has held its quota for longer than minAdmitDuration."""
        return self.time_based and self.now - view.keys[slot].reserved > self.min_admit

    cdef int own_kind(self, const View* view, Py_ssize_t slot) noexcept nogil:
        """withinClusterQueue: which group of the own candidates a holder belongs to, if any."""
        if self.within == NEVER or not self.uses(view, slot):
            return STAYS
        if view.keys[slot].priority != self.priority:
            return LOWER if view.keys[slot].priority < self.priority else STAYS
        if self.expired(view, slot):
            return EXPIRED
        return NEWER if self.within == LOWER_OR_NEWER and view.queued[slot] > self.queued else STAYS

    cdef bint candidate(self, const View* view, Py_ssize_t slot) noexcept nogil:
        """reclaimWithinCohort."""
        if self.reclaim == NEVER or not self.uses(view, slot):
            return False
        return self.reclaim == ANY or view.keys[slot].priority < self.priority

    cdef int own_reason(self, const View* view, Py_ssize_t slot) noexcept nogil:
        if view.keys[slot].priority == self.priority and self.expired(view, slot):
            return TIME_BASED
        return IN_CLUSTER_QUEUE

    cdef void list_own(self, const View* view) noexcept nogil:
        """Lower priorities, then the expired of equal priority, longest running first, then the newer."""
        self.own_count = 0
        self.list_part(view, 0, view.evicting)
        self.own_evicting = self.own_count
        self.list_part(view, view.evicting, view.count)

    cdef void list_part(self, const View* view, Py_ssize_t first, Py_ssize_t end) noexcept nogil:
        cdef Py_ssize_t i, slot, begin = self.own_count
        cdef int kind
        for kind in range(LOWER, NEWER + 1):
            begin = self.own_count
            for i in range(first, end):
                slot = view.sorted[i]
                if self.own_kind(view, slot) == kind:
                    self.own[self.own_count] = <int32_t>slot
                    self.own_count += 1
            if kind == EXPIRED:
                self.oldest_first(view, begin)

    cdef void oldest_first(self, const View* view, Py_ssize_t first) noexcept nogil:
        """Turn the end of `own`, latest reservation first, round; those of one moment stay as they are."""
        cdef Py_ssize_t low = first, high = self.own_count - 1, begin
        while low < high:
            self.own[low], self.own[high] = self.own[high], self.own[low]
            low += 1
            high -= 1
        begin = first
        while begin < self.own_count:
            high = begin
            while high + 1 < self.own_count and (
                view.keys[self.own[high + 1]].reserved == view.keys[self.own[begin]].reserved
            ):
                high += 1
            low, begin = begin, high + 1
            while low < high:
                self.own[low], self.own[high] = self.own[high], self.own[low]
                low += 1
                high -= 1

    cdef bint exceeds(self, Tree tree, const int64_t* usage, Py_ssize_t node) noexcept nogil:
        """Whether the node uses more of any contested FR than the quota of its subtree."""
        cdef Py_ssize_t i
        for i in range(self.count):
            if self.contested[i] and tree.exceeded(usage, node, self.frs[i], 0):
                return True
        return False

    cdef bint fits(self, Tree tree, const int64_t* usage, bint borrowing) noexcept nogil:
        """Whether everything asked for is there: with `borrowing` anywhere, else within the nominal quota."""
        cdef Py_ssize_t i, fr
        cdef int64_t amount
        for i in range(self.count):
            fr, amount = self.frs[i], self.amounts[i]
            if amount == 0:
                continue
            if not borrowing and (
                plus(usage[self.queue * tree.frs + fr], amount) > tree.nominal[self.queue, fr]
            ):
                return False
            if amount > tree.available(usage, self.queue, fr):
                return False
        return True
