# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""The quota tree: what follows from the quotas once, and what a node may still take given the usage of all.

`usage` is [nodes, frs]: of a ClusterQueue the sum of its workloads, of a Cohort what its children cannot keep
to themselves. The plain twin is tests/twins/quota/state/tree.py.
"""

import numpy as np

from native.codes cimport UNSET

from native.quota._amounts cimport minus, plus


cdef int compare(Share* one, Share* other) noexcept nogil:
    """Who of zero weight borrows is above everybody, and among its like by ratio."""
    if one.infinite or other.infinite:
        if one.infinite and other.infinite:
            return (one.ratio > other.ratio) - (one.ratio < other.ratio)
        return 1 if one.infinite else -1
    return (one.weighted > other.weighted) - (one.weighted < other.weighted)


cdef class Tree:

    def __init__(self, quotas):
        cdef Py_ssize_t node
        self.parent, self.weight = quotas.parent, quotas.weight
        self.nominal = quotas.nominal
        self.borrowing_limit, self.lending_limit = quotas.borrowing_limit, quotas.lending_limit
        self.queues = quotas.queues
        self.nodes, self.frs = quotas.nominal.shape
        self.subtree = quotas.nominal.copy()
        self.below = quotas.defined.copy()
        self.local = np.zeros((self.nodes, self.frs), np.int64)
        self.potential = np.zeros((self.nodes, self.frs), np.int64)
        self.height = np.zeros(self.nodes, np.int32)

        children = np.argsort(quotas.parent, kind="stable").astype(np.int32)
        self.child = children
        firsts = np.searchsorted(quotas.parent[children], np.arange(self.nodes + 1))
        self.first_child = firsts.astype(np.int32)
        resources = int(quotas.resource.max(initial=-1)) + 1
        listed = np.argsort(quotas.resource, kind="stable").astype(np.int32)
        self.listed = listed
        firsts = np.searchsorted(quotas.resource[listed], np.arange(resources + 1))
        self.first_listed = firsts.astype(np.int32)
        self.lendable = np.zeros((self.nodes, resources), np.int64)
        with nogil:
            for node in range(self.nodes):
                if self.parent[node] < 0:
                    self.settle(node)
                    self.settle_down(node)

    cdef void settle(self, Py_ssize_t node) noexcept nogil:
        """What the children give their parent, from the leaves up."""
        cdef Py_ssize_t i, child, fr
        for i in range(self.first_child[node], self.first_child[node + 1]):
            child = self.child[i]
            self.settle(child)
            self.height[node] = max(self.height[node], self.height[child] + 1)
            for fr in range(self.frs):
                self.subtree[node, fr] = plus(
                    self.subtree[node, fr], minus(self.subtree[child, fr], self.local[child, fr])
                )
                self.below[node, fr] |= self.below[child, fr]
        for fr in range(self.frs):
            if self.lending_limit[node, fr] != UNSET:
                self.local[node, fr] = max(0, minus(self.subtree[node, fr], self.lending_limit[node, fr]))

    cdef void settle_down(self, Py_ssize_t node) noexcept nogil:
        """The most that a node can ever reach, from the root down."""
        cdef Py_ssize_t i, fr, parent = self.parent[node], resource
        for fr in range(self.frs):
            if parent < 0:
                self.potential[node, fr] = self.subtree[node, fr]
                continue
            self.potential[node, fr] = plus(self.local[node, fr], self.potential[parent, fr])
            if self.borrowing_limit[node, fr] != UNSET:
                self.potential[node, fr] = min(
                    self.potential[node, fr], plus(self.subtree[node, fr], self.borrowing_limit[node, fr])
                )
        for resource in range(self.lendable.shape[1]):
            for i in range(self.first_listed[resource], self.first_listed[resource + 1]):
                self.lendable[node, resource] = plus(
                    self.lendable[node, resource], self.potential[node, self.listed[i]]
                )
        for i in range(self.first_child[node], self.first_child[node + 1]):
            self.settle_down(self.child[i])

    cdef int64_t unused(self, const int64_t* usage, Py_ssize_t node, Py_ssize_t fr) noexcept nogil:
        """What is left of the quota that the node does not lend."""
        return max(0, minus(self.local[node, fr], usage[node * self.frs + fr]))

    cdef int64_t reach(self, const int64_t* usage, Py_ssize_t node, Py_ssize_t fr) noexcept nogil:
        """What the node can still take, from itself or above; negative where more is used than there is."""
        cdef int64_t used = usage[node * self.frs + fr], above, stored
        if self.parent[node] < 0:
            return minus(self.subtree[node, fr], used)
        above = self.reach(usage, self.parent[node], fr)
        if self.borrowing_limit[node, fr] != UNSET:
            stored = minus(self.subtree[node, fr], self.local[node, fr])
            stored = minus(stored, max(0, minus(used, self.local[node, fr])))
            above = min(above, plus(stored, self.borrowing_limit[node, fr]))
        return plus(self.unused(usage, node, fr), above)

    cdef int64_t available(self, const int64_t* usage, Py_ssize_t node, Py_ssize_t fr) noexcept nogil:
        return max(0, self.reach(usage, node, fr))

    cdef void add(self, int64_t* usage, Py_ssize_t node, Py_ssize_t fr, int64_t amount) noexcept nogil:
        cdef int64_t kept
        while True:
            kept = self.unused(usage, node, fr)
            usage[node * self.frs + fr] = plus(usage[node * self.frs + fr], amount)
            if self.parent[node] < 0 or amount <= kept:
                return
            amount -= kept
            node = self.parent[node]

    cdef void remove(self, int64_t* usage, Py_ssize_t node, Py_ssize_t fr, int64_t amount) noexcept nogil:
        cdef int64_t above
        while True:
            above = minus(usage[node * self.frs + fr], self.local[node, fr])
            usage[node * self.frs + fr] = minus(usage[node * self.frs + fr], amount)
            if above <= 0 or self.parent[node] < 0:
                return
            amount = min(amount, above)
            node = self.parent[node]

    cdef bint exceeded(
        self, const int64_t* usage, Py_ssize_t node, Py_ssize_t fr, int64_t more
    ) noexcept nogil:
        """Whether the node, with `more` added, uses more than the quota of its subtree."""
        return plus(usage[node * self.frs + fr], more) > self.subtree[node, fr]

    cdef Py_ssize_t level(
        self, const int64_t* usage, Py_ssize_t node, Py_ssize_t fr, int64_t amount, bint* more
    ) noexcept nogil:
        """Height of the smallest subtree whose quota suffices; `more`: whether there is a larger one."""
        more[0] = self.parent[node] >= 0
        if not more[0] or not self.exceeded(usage, node, fr, amount):
            return 0
        while self.parent[node] >= 0:
            amount = minus(amount, self.unused(usage, node, fr))
            node = self.parent[node]
            if not self.exceeded(usage, node, fr, amount):
                break
        more[0] = self.parent[node] >= 0
        return self.height[node]

    cdef Share share(self, const int64_t* usage, Py_ssize_t node) noexcept nogil:
        """The dominant resource share: in thousandths of what the parent can lend, over the weight."""
        cdef Share share
        cdef Py_ssize_t i, fr, resource
        cdef int64_t borrowed, lendable
        share.borrowing = share.infinite = False
        share.ratio = share.weighted = 0
        if self.parent[node] < 0:
            return share
        for resource in range(self.lendable.shape[1]):
            borrowed = 0
            for i in range(self.first_listed[resource], self.first_listed[resource + 1]):
                fr = self.listed[i]
                if self.below[node, fr] and self.exceeded(usage, node, fr, 0):
                    borrowed = plus(borrowed, usage[node * self.frs + fr] - self.subtree[node, fr])
            if borrowed == 0:
                continue
            share.borrowing = True
            lendable = self.lendable[self.parent[node], resource]
            if lendable > 0:
                share.ratio = max(share.ratio, <double>borrowed * 1000.0 / <double>lendable)
        share.infinite = self.weight[node] == 0 and share.borrowing
        if share.ratio > 0 and not share.infinite:
            share.weighted = share.ratio / self.weight[node]
        return share
