# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""Preemption without fair sharing: within the ClusterQueue, reclaiming what others borrowed, and KEP-1337.

Candidates are merged from the ClusterQueues' sorted holders as far as they are needed.
The plain twin is tests/twins/quota/classical.py.
"""

import numpy as np

from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from native.codes cimport (
    COHORT_WITHIN_QUOTA,
    NEVER,
    QUEUE_WITHIN_NOMINAL,
    RECLAMATION,
    TAKEN,
    WHILE_BORROWING,
    WOULD_BORROW,
)
from native.quota._amounts cimport minus
from native.quota._holders cimport Key, View, before


cdef class Classical(Search):

    def __init__(self, Tree tree, Wish wish, usage, bint tracing):
        Search.__init__(self, tree, wish, usage, tracing)
        self.saved = np.array(usage)
        self.left = np.array(wish.amounts, np.int64)
        self.sources = <Source*>malloc(max(1, tree.queues) * sizeof(Source))
        self.heap = <int32_t*>malloc(max(1, tree.queues) * sizeof(int32_t))
        if self.sources == NULL or self.heap == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.sources)
        free(self.heap)

    cdef bint run(self) noexcept nogil:
        cdef bint forbidden = not self.wish.borrow, hierarchy
        self.wish.list_own(&self.views[self.wish.queue])
        self.find_sources()
        if not self.source_count or (forbidden and not self.under_nominal()):
            return (self.wish.own_count > 0 or self.source_count > 0) and self.succeeds(True)
        hierarchy = self.sources[self.source_count - 1].advantage
        if forbidden and not hierarchy:
            return self.succeeds(False) or self.succeeds(True)
        return self.succeeds(True) or self.succeeds(False)

    cdef bint under_nominal(self) noexcept nogil:
        """Whether the ClusterQueue has nominal quota of its own left for everything that is contested."""
        cdef Py_ssize_t i, queue = self.wish.queue
        for i in range(self.wish.count):
            if self.wish.contested[i] and self.tree.exceeded(self.usage, queue, self.wish.frs[i], 1):
                return False
        return True

    cdef void find_sources(self) noexcept nogil:
        """From the own Cohort to the root. Once a subtree has quota for it all, what is above owes it."""
        cdef Py_ssize_t node = self.tree.parent[self.wish.queue], seen = -1
        cdef bint advantage
        if node < 0 or self.wish.reclaim == NEVER:
            return
        advantage = self.suffices(self.wish.queue)
        while node >= 0:
            self.collect(node, node, seen, advantage)
            advantage = self.suffices(node) or advantage
            seen = node
            node = self.tree.parent[node]

    cdef bint suffices(self, Py_ssize_t node) noexcept nogil:
        """Whether the node's quota suffices for what is left, less what it keeps."""
        cdef Py_ssize_t i, fr
        cdef bint enough = True
        for i in range(self.wish.count):
            fr = self.wish.frs[i]
            if self.wish.amounts[i] == 0:
                continue
            if self.tree.exceeded(self.usage, node, fr, self.left[i]):
                enough = False
            self.left[i] = max(0, minus(self.left[i], self.tree.unused(self.usage, node, fr)))
        return enough

    cdef void collect(
        self, Py_ssize_t cohort, Py_ssize_t common, Py_ssize_t seen, bint advantage
    ) noexcept nogil:
        """The ClusterQueues below that use more than their quota, in subtrees that do, too."""
        cdef Py_ssize_t i, child
        for i in range(self.tree.first_child[cohort], self.tree.first_child[cohort + 1]):
            child = self.tree.child[i]
            if child == seen or child == self.wish.queue:
                continue
            if not self.wish.exceeds(self.tree, self.usage, child):
                continue
            if child >= self.tree.queues:
                self.collect(child, common, seen, advantage)
            elif not self.wish.closed[child] and self.anybody(&self.views[child]):
                self.sources[self.source_count].queue = <int32_t>child
                self.sources[self.source_count].common = <int32_t>common
                self.sources[self.source_count].advantage = advantage
                self.source_count += 1

    cdef bint anybody(self, const View* view) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(view.count):
            if self.wish.candidate(view, view.sorted[i]):
                return True
        return False

    cdef bint succeeds(self, bint borrowing) noexcept nogil:
        """One attempt. Leaving ones first; who owes by the hierarchy, then by priority, then the own."""
        cdef int leaving
        self.attempt += 1
        self.count, self.borrowing = 0, borrowing
        memcpy(self.usage, &self.saved[0, 0], self.tree.nodes * self.tree.frs * sizeof(int64_t))
        for leaving in range(1, -1, -1):
            if self.merge(True, leaving) or self.merge(False, leaving) or self.take_own(leaving):
                self.fill_back()
                return True
            if self.exhausted:
                return False
        return False

    cdef bint take_own(self, bint leaving) noexcept nogil:
        cdef Py_ssize_t i, first = 0 if leaving else self.wish.own_evicting, slot
        for i in range(first, self.wish.own_evicting if leaving else self.wish.own_count):
            slot = self.wish.own[i]
            self.take(self.wish.queue, slot, self.wish.own_reason(&self.views[self.wish.queue], slot))
            if self.wish.fits(self.tree, self.usage, self.borrowing):
                return True
        return False

    cdef bint merge(self, bint advantage, bint leaving) noexcept nogil:
        """Candidates of other ClusterQueues, best first, until the request fits."""
        cdef Source* source
        cdef Py_ssize_t slot
        cdef int what
        self.gather(advantage, leaving)
        while self.heaped and not self.exhausted:
            source = &self.sources[self.heap[0]]
            slot = self.views[source.queue].sorted[source.next]
            what = self.judge(source, slot)
            if what == TAKEN:
                self.take(source.queue, slot, self.reason(source, slot))
                if self.wish.fits(self.tree, self.usage, self.borrowing):
                    return True
            else:
                self.note(source.queue, slot, what)
                if not self.tracing:
                    # Usage only falls and priorities only rise: none of its candidates will pass.
                    source.next = source.end
            source.next += 1
            self.seek(source)
            if source.next >= source.end:
                self.heaped -= 1
                self.heap[0] = self.heap[self.heaped]
            self.sink(0)
        return False

    cdef void gather(self, bint advantage, bint leaving) noexcept nogil:
        cdef Py_ssize_t i
        cdef Source* source
        cdef const View* view
        self.heaped = 0
        for i in range(self.source_count):
            source = &self.sources[i]
            if source.advantage != advantage:
                continue
            view = &self.views[source.queue]
            source.next = <int32_t>(0 if leaving else view.evicting)
            source.end = <int32_t>(view.evicting if leaving else view.count)
            self.seek(source)
            if source.next < source.end:
                self.heap[self.heaped] = <int32_t>i
                self.heaped += 1
        for i in range(self.heaped // 2 - 1, -1, -1):
            self.sink(i)

    cdef void seek(self, Source* source) noexcept nogil:
        """To the next candidate."""
        cdef const View* view = &self.views[source.queue]
        while source.next < source.end and not self.wish.candidate(view, view.sorted[source.next]):
            source.next += 1

    cdef const Key* head(self, Py_ssize_t place) noexcept nogil:
        cdef Source* source = &self.sources[self.heap[place]]
        return &self.views[source.queue].keys[self.views[source.queue].sorted[source.next]]

    cdef void sink(self, Py_ssize_t place) noexcept nogil:
        cdef Py_ssize_t child
        while 2 * place + 1 < self.heaped:
            child = 2 * place + 1
            if child + 1 < self.heaped and before(self.head(child + 1), self.head(child)) < 0:
                child += 1
            if before(self.head(place), self.head(child)) < 0:
                return
            self.heap[place], self.heap[child] = self.heap[child], self.heap[place]
            place = child

    cdef int judge(self, Source* source, Py_ssize_t slot) noexcept nogil:
        """Whether a candidate may be taken, by what is used at this moment."""
        cdef Py_ssize_t node = source.queue
        if self.borrowing and not source.advantage and self.only_without_borrowing(source.queue, slot):
            return WOULD_BORROW
        while node != source.common:
            if not self.wish.exceeds(self.tree, self.usage, node):
                return QUEUE_WITHIN_NOMINAL if node == source.queue else COHORT_WITHIN_QUOTA
            node = self.tree.parent[node]
        return TAKEN

    cdef bint only_without_borrowing(self, Py_ssize_t queue, Py_ssize_t slot) noexcept nogil:
        """KEP-1337: a borrower may take from lower priorities, up to maxPriorityThreshold."""
        cdef int64_t priority = self.views[queue].keys[slot].priority
        return not self.wish.borrow or priority >= self.wish.priority or priority > self.wish.threshold

    cdef int reason(self, Source* source, Py_ssize_t slot) noexcept nogil:
        if source.advantage or self.only_without_borrowing(source.queue, slot):
            return RECLAMATION
        return WHILE_BORROWING
