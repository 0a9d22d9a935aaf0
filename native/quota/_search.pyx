# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""What the classical and the fair search share: taking quota from holders, putting it back, and the targets.

A search works on its own copy of the usage.
"""

from libc.stdlib cimport free, realloc

from native.codes cimport PUT_BACK, TAKEN


cdef class Search:

    def __init__(self, Tree tree, Wish wish, usage, bint tracing):
        self.tree, self.wish, self.tracing = tree, wish, tracing
        self.attempt = -1
        self.table = usage
        self.usage = &self.table[0, 0] if tree.frs else NULL

    def __dealloc__(self):
        free(self.targets)
        free(self.steps)

    cdef bint run(self) noexcept nogil:
        """Whether anybody's going helps; then `targets` are who, and `usage` is what it is without them."""
        return False

    cdef void move(self, Py_ssize_t queue, Py_ssize_t slot, bint back) noexcept nogil:
        cdef Py_ssize_t i
        cdef const View* view = &self.views[queue]
        cdef const int32_t* frs = view.frs + slot * view.width
        cdef const int64_t* amounts = view.amounts + slot * view.width
        for i in range(view.width):
            if frs[i] < 0:
                return
            if back:
                self.tree.add(self.usage, queue, frs[i], amounts[i])
            else:
                self.tree.remove(self.usage, queue, frs[i], amounts[i])

    cdef void take(self, Py_ssize_t queue, Py_ssize_t slot, int reason) noexcept nogil:
        cdef Target* targets = self.targets
        if self.count == self.room:
            targets = <Target*>realloc(self.targets, (2 * self.room + 64) * sizeof(Target))
            if targets == NULL:
                self.exhausted = True
                return
            self.targets, self.room = targets, 2 * self.room + 64
        targets[self.count].queue, targets[self.count].slot = <int32_t>queue, <int32_t>slot
        targets[self.count].reason = reason
        self.count += 1
        self.move(queue, slot, False)
        self.note(queue, slot, TAKEN)

    cdef void note(self, Py_ssize_t queue, Py_ssize_t slot, int what) noexcept nogil:
        cdef Step* steps = self.steps
        if not self.tracing:
            return
        if self.step_count == self.step_room:
            steps = <Step*>realloc(self.steps, (2 * self.step_room + 64) * sizeof(Step))
            if steps == NULL:
                self.exhausted = True
                return
            self.steps, self.step_room = steps, 2 * self.step_room + 64
        steps[self.step_count].queue, steps[self.step_count].slot = <int32_t>queue, <int32_t>slot
        steps[self.step_count].attempt, steps[self.step_count].what = self.attempt, <int8_t>what
        steps[self.step_count].borrowing = self.borrowing
        self.step_count += 1

    cdef void fill_back(self) noexcept nogil:
        """From the last but one to the first, whoever can stay does; the last one moves up in the list."""
        cdef Py_ssize_t i = self.count - 2
        cdef Target target
        while i >= 0:
            target = self.targets[i]
            self.move(target.queue, target.slot, True)
            if self.wish.fits(self.tree, self.usage, self.borrowing):
                self.note(target.queue, target.slot, PUT_BACK)
                self.count -= 1
                self.targets[i] = self.targets[self.count]
            else:
                self.move(target.queue, target.slot, False)
            i -= 1

    cdef bint own_target(self) noexcept nogil:
        """Whether anybody of the own ClusterQueue goes."""
        cdef Py_ssize_t i
        for i in range(self.count):
            if self.targets[i].queue == self.wish.queue:
                return True
        return False
