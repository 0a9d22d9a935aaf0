# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""Preemption with fair sharing: whoever has most of what the others lend gives first.

The request is part of its ClusterQueue's usage for as long as shares are compared.
The plain twin is tests/twins/quota/fair.py.

See docs/decisions/0011.
"""

import numpy as np

from libc.stdlib cimport calloc, free

from native.codes cimport FAIR_SHARING, FINAL_SHARE, RECLAMATION, SHARE_REFUSED
from native.quota._holders cimport View, before
from native.quota._tree cimport compare


cdef class Fair(Search):

    def __init__(self, Tree tree, Wish wish, usage, bint tracing, strategies, Py_ssize_t holders):
        Search.__init__(self, tree, wish, usage, tracing)
        self.attempt, self.borrowing = 0, True
        self.strategies = np.array(strategies, np.int32)
        self.path, self.pruned, self.known = np.zeros((3, tree.nodes), np.uint8)
        self.first, self.next, self.end, self.refused = np.zeros((4, tree.queues), np.int32)
        self.listed = np.empty(holders, np.int32)
        self.shares = <Share*>calloc(tree.nodes, sizeof(Share))
        if self.shares == NULL:
            raise MemoryError
        self.root = wish.queue
        self.path[self.root] = True
        while tree.parent[self.root] >= 0:
            self.root = tree.parent[self.root]
            self.path[self.root] = True

    def __dealloc__(self):
        free(self.shares)

    cdef bint run(self) noexcept nogil:
        cdef bint found
        self.list_candidates()
        self.want(True)
        found = self.first_pass() or (
            not self.exhausted and self.strategies.shape[0] > 1 and self.second_pass()
        )
        self.want(False)
        if found:
            self.fill_back()
        return found

    cdef void list_candidates(self) noexcept nogil:
        """ClusterQueue by ClusterQueue, in the order in which they go."""
        cdef Py_ssize_t i, total = 0, queue
        cdef const View* view
        for queue in range(self.tree.queues):
            self.first[queue] = self.next[queue] = self.end[queue] = <int32_t>total
            view = &self.views[queue]
            if queue == self.wish.queue:
                self.wish.list_own(view)
                for i in range(self.wish.own_count):
                    self.listed[total + i] = self.wish.own[i]
                total += self.wish.own_count
            elif not self.wish.closed[queue] and self.in_tree(queue) and (
                self.wish.exceeds(self.tree, self.usage, queue)
            ):
                for i in range(view.count):
                    if self.wish.candidate(view, view.sorted[i]):
                        self.listed[total] = view.sorted[i]
                        total += 1
            self.end[queue] = <int32_t>total

    cdef void want(self, bint want) noexcept nogil:
        """Count the request as usage, or no longer."""
        cdef Py_ssize_t i
        for i in range(self.wish.count):
            if want:
                self.tree.add(self.usage, self.wish.queue, self.wish.frs[i], self.wish.amounts[i])
            else:
                self.tree.remove(self.usage, self.wish.queue, self.wish.frs[i], self.wish.amounts[i])
        self.forget(self.wish.queue)

    cdef void forget(self, Py_ssize_t node) noexcept nogil:
        """The usage of the node has changed, and with it that of all above."""
        while node >= 0:
            self.known[node] = False
            node = self.tree.parent[node]

    cdef Share* share(self, Py_ssize_t node) noexcept nogil:
        if not self.known[node]:
            self.shares[node] = self.tree.share(self.usage, node)
            self.known[node] = True
        return &self.shares[node]

    cdef bint left(self, Py_ssize_t queue) noexcept nogil:
        return self.next[queue] < self.end[queue]

    cdef Py_ssize_t pop(self, Py_ssize_t queue) noexcept nogil:
        cdef Py_ssize_t slot = self.listed[self.next[queue]]
        self.next[queue] += 1
        return slot

    cdef bint in_tree(self, Py_ssize_t node) noexcept nogil:
        while self.tree.parent[node] >= 0:
            node = self.tree.parent[node]
        return node == self.root

    cdef Py_ssize_t rival(self, Py_ssize_t queue) noexcept nogil:
        """The ClusterQueue, or the Cohort above it, whose parent is above the own one as well."""
        while not self.path[self.tree.parent[queue]]:
            queue = self.tree.parent[queue]
        return queue

    cdef Py_ssize_t own_side(self, Py_ssize_t rival) noexcept nogil:
        """What is on the own path beside it."""
        cdef Py_ssize_t node = self.wish.queue
        while self.tree.parent[node] != self.tree.parent[rival]:
            node = self.tree.parent[node]
        return node

    cdef bint first_pass(self) noexcept nogil:
        cdef Py_ssize_t queue
        cdef bint entitled = not self.wish.exceeds(self.tree, self.usage, self.wish.queue)
        while not self.exhausted:
            queue = self.next_queue()
            if queue < 0:
                return False
            if self.take_from(queue, entitled):
                return True
        return False

    cdef bint take_from(self, Py_ssize_t queue, bint entitled) noexcept nogil:
        """The next candidate that the first strategy lets go, if any is left. Whether that suffices."""
        cdef Py_ssize_t slot, rival
        if queue == self.wish.queue:
            slot = self.pop(queue)
            return self.fits_without(queue, slot, self.wish.own_reason(&self.views[queue], slot))
        if entitled:
            return self.fits_without(queue, self.pop(queue), RECLAMATION)
        rival = self.rival(queue)
        while self.left(queue):
            slot = self.pop(queue)
            if self.passes(queue, slot, rival):
                return self.fits_without(queue, slot, FAIR_SHARING)
            # Kept for the second pass, in the part of the list that has been read.
            self.note(queue, slot, SHARE_REFUSED)
            self.listed[self.first[queue] + self.refused[queue]] = <int32_t>slot
            self.refused[queue] += 1
        return False

    cdef bint passes(self, Py_ssize_t queue, Py_ssize_t slot, Py_ssize_t rival) noexcept nogil:
        cdef Share new
        cdef Share* own = self.share(self.own_side(rival))
        cdef int order = compare(own, self.share(rival))
        if self.strategies[0] != FINAL_SHARE:
            return order < 0
        if order > 0:
            return False  # no preemption makes a share larger
        self.move(queue, slot, False)
        new = self.tree.share(self.usage, rival)
        self.move(queue, slot, True)
        return compare(own, &new) <= 0

    cdef bint second_pass(self) noexcept nogil:
        """LessThanInitialShare for those that were refused, one of each ClusterQueue."""
        cdef Py_ssize_t queue, slot, rival
        self.again()
        while not self.exhausted:
            queue = self.next_queue()
            if queue < 0:
                return False
            slot, rival = self.pop(queue), self.rival(queue)
            self.pruned[queue] = True
            if compare(self.share(self.own_side(rival)), self.share(rival)) >= 0:
                self.note(queue, slot, SHARE_REFUSED)
            elif self.fits_without(queue, slot, FAIR_SHARING):
                return True
        return False

    cdef void again(self) noexcept nogil:
        cdef Py_ssize_t queue
        self.attempt = 1
        self.pruned[:] = False
        for queue in range(self.tree.queues):
            self.next[queue], self.end[queue] = self.first[queue], self.first[queue] + self.refused[queue]

    cdef bint fits_without(self, Py_ssize_t queue, Py_ssize_t slot, int reason) noexcept nogil:
        """Take a candidate. Whether the request fits now."""
        cdef bint fits
        self.take(queue, slot, reason)
        self.forget(queue)
        self.want(False)
        fits = self.wish.fits(self.tree, self.usage, True)
        self.want(True)
        return fits

    cdef Py_ssize_t next_queue(self) noexcept nogil:
        """The ClusterQueue to take from, down from the root by the largest share; -1 when none is left."""
        cdef Py_ssize_t queue
        if self.root == self.wish.queue:
            return self.root if self.left(self.root) else -1
        while not self.pruned[self.root]:
            queue = self.choose(self.root)
            if queue >= 0:
                return queue
        return -1

    cdef Py_ssize_t choose(self, Py_ssize_t cohort) noexcept nogil:
        """Of equals a Cohort, then by the next candidate, or the name; -1 where nothing is left."""
        cdef Py_ssize_t i, child, queue = -1, best = -1
        cdef int order
        for i in range(self.tree.first_child[cohort], self.tree.first_child[cohort + 1]):
            child = self.tree.child[i]
            if self.pruned[child]:
                continue
            if child < self.tree.queues:
                if not self.left(child) or not (self.share(child).borrowing or child == self.wish.queue):
                    self.pruned[child] = True
                    continue
                order = 1 if queue < 0 else compare(self.share(child), self.share(queue))
                if order > 0 or (order == 0 and self.head_first(child, queue)):
                    queue = child
            elif not self.share(child).borrowing and not self.path[child]:
                self.pruned[child] = True
            elif best < 0 or compare(self.share(child), self.share(best)) > 0:
                best = child
        if best < 0 and queue < 0:
            self.pruned[cohort] = True
            return -1
        if best >= 0 and (queue < 0 or compare(self.share(best), self.share(queue)) >= 0):
            return self.choose(best)
        return queue

    cdef bint head_first(self, Py_ssize_t one, Py_ssize_t other) noexcept nogil:
        """Whether the next candidate of `one` goes before that of `other`; the own goes last."""
        cdef Py_ssize_t a = self.listed[self.next[one]], b = self.listed[self.next[other]]
        cdef const View* first = &self.views[one]
        cdef const View* second = &self.views[other]
        if first.keys[a].evicting == second.keys[b].evicting and self.wish.queue in (one, other):
            return other == self.wish.queue
        return before(&first.keys[a], &second.keys[b]) < 0
