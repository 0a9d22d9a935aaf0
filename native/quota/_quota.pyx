# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""Who holds which quota, updated in place, and the search for targets of preemption. See _quota.pyi.

The plain twin is tests/twins/quota/quota.py.
"""

import numpy as np

from native.quota.quotas import Found

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from native.codes cimport NO_CANDIDATES, PREEMPT, RECLAIM
from native.quota._classical cimport Classical
from native.quota._fair cimport Fair
from native.quota._holders cimport Block, Key, View
from native.quota._search cimport Search, Step, Target
from native.quota._tree cimport Share, Tree
from native.quota._wish cimport Wish


cdef int64_t MOST = (<int64_t>1 << 62) - 1


cdef class Ledger:

    cdef Tree tree
    cdef list blocks
    cdef View* views
    cdef int64_t[:, ::1] used
    cdef int64_t[::1] total  # [FRs], of all ClusterQueues
    cdef object mark  # of the blocks that nobody else has
    cdef Py_ssize_t holding

    def __init__(self, quotas):
        self.tree = Tree(quotas)
        self.mark = object()
        self.blocks = [Block(self.mark) for _ in range(self.tree.queues)]
        self.used = np.zeros((self.tree.nodes, self.tree.frs), np.int64)
        self.total = np.zeros(self.tree.frs, np.int64)
        self.see()

    def __dealloc__(self):
        free(self.views)

    def __len__(self):
        return self.holding

    cdef void see(self):
        cdef Py_ssize_t queue
        cdef Block block
        self.views = <View*>malloc(max(1, self.tree.queues) * sizeof(View))
        if self.views == NULL:
            raise MemoryError
        for queue in range(self.tree.queues):
            block = self.blocks[queue]
            self.views[queue] = block.view

    cdef Block own(self, Py_ssize_t queue):
        cdef Block block = self.blocks[queue]
        if block.owner is not self.mark:
            block = block.copy(self.mark)
            self.blocks[queue] = block
            # At once: where the event then fails, the shared block may be gone with its last owner.
            self.views[queue] = block.view
        return block

    def snapshot(self):
        cdef Ledger other = Ledger.__new__(Ledger)
        # From here on neither may write to what both see.
        self.mark, other.mark = object(), object()
        other.tree, other.blocks, other.holding = self.tree, self.blocks.copy(), self.holding
        other.used, other.total = np.array(self.used), np.array(self.total)
        other.see()
        return other

    def admit(
        self, Py_ssize_t queue, holder, int64_t priority, int64_t reserved, int64_t queued, int64_t order,
        bint evicting, frs, amounts,
    ):
        cdef Key key = Key(evicting, priority, reserved, order)
        cdef Block block = self.own(queue)
        cdef int64_t amount
        cdef Py_ssize_t fr
        if block.holds(block.place(&key), &key):
            raise ValueError("the ClusterQueue has a holder of that priority, reservation and order")
        wanted = list(frs), list(amounts)
        self.check(wanted)
        block.insert(key, queued, holder, wanted[0], wanted[1])
        self.views[queue] = block.view
        self.holding += 1
        for fr, amount in zip(*wanted, strict=True):
            self.total[fr] += amount
            self.tree.add(&self.used[0, 0], queue, fr, amount)

    cdef void check(self, tuple wanted):
        cdef dict more = {}
        for fr, amount in zip(*wanted, strict=True):
            more[fr] = more.get(fr, 0) + amount
        for fr, amount in more.items():
            if self.total[<Py_ssize_t>fr] + amount > MOST:
                raise OverflowError(fr)

    def release(self, Py_ssize_t queue, int64_t priority, int64_t reserved, int64_t order, bint evicting):
        cdef Key key = Key(evicting, priority, reserved, order)
        cdef Block block = self.own(queue)
        cdef Py_ssize_t place = block.place(&key), slot, i, fr
        if not block.holds(place, &key):
            raise KeyError(order)
        slot = block.order[place]
        for i in range(block.view.width):
            fr = block.frs[slot, i]
            if fr < 0:
                break
            self.total[fr] -= block.amounts[slot, i]
            self.tree.remove(&self.used[0, 0], queue, fr, block.amounts[slot, i])
        holder = block.delete(place)
        self.views[queue] = block.view
        self.holding -= 1
        return holder

    def holders(self, Py_ssize_t queue):
        cdef Block block = self.blocks[queue]
        return [block.holders[slot] for slot in block.order[: block.view.count]]

    def reserve(self, Py_ssize_t queue, frs, amounts):
        cdef int64_t amount
        cdef Py_ssize_t fr
        for fr, amount in zip(frs, amounts, strict=True):
            self.tree.add(&self.used[0, 0], queue, fr, amount)

    def unreserve(self, Py_ssize_t queue, frs, amounts):
        cdef int64_t amount
        cdef Py_ssize_t fr
        for fr, amount in zip(frs, amounts, strict=True):
            self.tree.remove(&self.used[0, 0], queue, fr, amount)

    def usage(self, Py_ssize_t node, Py_ssize_t fr):
        return self.used[node, fr]

    def quota(self, Py_ssize_t node, Py_ssize_t fr):
        return self.tree.subtree[node, fr]

    def potential(self, Py_ssize_t node, Py_ssize_t fr):
        return self.tree.potential[node, fr]

    def available(self, Py_ssize_t queue, Py_ssize_t fr):
        return self.tree.available(&self.used[0, 0], queue, fr)

    def height(self, Py_ssize_t queue, Py_ssize_t fr, int64_t amount):
        cdef bint more
        level = self.tree.level(&self.used[0, 0], queue, fr, amount, &more)
        return level, more

    def share(self, Py_ssize_t node):
        cdef Share share
        if not self.tree.frs:
            return False, 0.0, 0.0
        share = self.tree.share(&self.used[0, 0], node)
        return share.infinite, share.ratio, float("inf") if share.infinite else share.weighted

    def search(self, ask, strategies, bint trace=False):
        cdef Search search = self.searched(ask, strategies, trace)
        cdef Py_ssize_t i
        cdef Target target
        cdef Step step
        targets, steps = [], []
        for i in range(search.count):
            target = search.targets[i]
            targets.append((self.holder(target.queue, target.slot), target.reason))
        for i in range(search.step_count):
            step = search.steps[i]
            steps.append((step.attempt, bool(step.borrowing), self.holder(step.queue, step.slot), step.what))
        return Found(targets, steps)

    def simulate(self, ask, strategies):
        cdef Search search = self.searched(ask, strategies, False)
        cdef Wish wish = search.wish
        cdef bint more
        if not search.count:
            return NO_CANDIDATES, self.height(wish.queue, wish.frs[0], wish.amounts[0])[0]
        level = self.tree.level(search.usage, wish.queue, wish.frs[0], wish.amounts[0], &more)
        return PREEMPT if search.own_target() else RECLAIM, level

    cdef Search searched(self, ask, strategies, bint trace):
        cdef Search search
        cdef Wish wish = Wish(ask, self.tree)
        cdef bint found
        wish.own = np.empty(self.views[wish.queue].count, np.int32)
        if strategies is None:
            search = Classical(self.tree, wish, np.array(self.used), trace)
        else:
            search = Fair(self.tree, wish, np.array(self.used), trace, strategies, self.holding)
        search.views = self.views
        if not wish.count:
            return search
        with nogil:
            found = search.run()
        if search.exhausted:
            raise MemoryError
        if not found:
            search.count = 0
        return search

    cdef object holder(self, Py_ssize_t queue, Py_ssize_t slot):
        cdef Block block = self.blocks[queue]
        return block.holders[slot]
