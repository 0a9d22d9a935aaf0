# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""From the columns of pods to the units that may be evicted, their order, and their pieces.

Each function goes over the columns a few times, in the order of their rows. The plain twin is
tests/twins/nodes/units.py.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t
from libc.stdlib cimport qsort

cdef enum:
    DIGIT = 11
    DIGITS = 1 << DIGIT
    WORD = 64

cdef int64_t HALF = (<int64_t>1 << 32) - 1


# ---- which units there are


def list_units(pods, groups, on, below, but, rules):
    """The units of lower priority than `below` with a pod on a node of `on` [N]: groups by row, then pods.

    `pods` [P]: node, flags, group, priority, start and live of the snapshot. `groups` [G]: whether each
    exists, has a known priority and goes whole, its priority, and how many pods of a gang must run (-1 if it
    is none). Pods of the group `but` are in no unit.

    `rules`: the flags of pods that terminate; the flags of pods that stay, and all of their unit; how many
    seconds earlier a single pod counts as started that its gang needs; and the priority of a group that has
    none, so that its pods say their own.

    Returns priority, start, size, whole [U], first [U + 1] and pods: each unit's rows of pods, ascending.
    """
    cdef Listing listing = Listing(pods, groups, on, below, but, rules)
    with nogil:
        listing.count_groups()
        listing.choose()
    return listing.units()


cdef class Listing:
    cdef const int32_t[::1] node, group
    cdef const uint8_t[::1] flags, live, exists, known, whole, on
    cdef const int64_t[::1] priority, start, minimum
    cdef int64_t below, needed_seconds, unsaid
    cdef int32_t but
    cdef int terminating, fixed
    cdef int64_t[::1] lowest, running, sizes, starts, places
    cdef uint8_t[::1] stays, here
    cdef int32_t[::1] single
    cdef Py_ssize_t alone, together, members

    def __init__(self, pods, groups, on, below, but, rules):
        self.node, self.flags, self.group, self.priority, self.start, self.live = pods
        self.exists, self.known, self.whole, priorities, self.minimum = groups
        self.on, self.below, self.but = on, below, but
        self.terminating, self.fixed, self.needed_seconds, self.unsaid = rules
        count = len(priorities)
        self.lowest, self.running = priorities.copy(), np.zeros(count, np.int64)
        self.sizes, self.starts = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.places = np.zeros(count, np.int64)
        self.stays, self.here = np.zeros(count, np.uint8), np.zeros(count, np.uint8)
        self.single = np.empty(len(self.node), np.int32)

    cdef bint counts(self, Py_ssize_t row) noexcept nogil:
        """Whether the pod is bound and does not terminate."""
        return self.live[row] and self.node[row] >= 0 and not self.flags[row] & self.terminating

    cdef void count_groups(self) noexcept nogil:
        """How many pods of each group run. One that goes whole has the lowest priority there is in it."""
        cdef Py_ssize_t row
        cdef int32_t g
        if not self.lowest.shape[0]:
            return
        for row in range(self.node.shape[0]):
            g = self.group[row]
            if g >= 0 and self.counts(row):
                self.running[g] += 1
                if self.whole[g]:
                    self.lowest[g] = min(self.lowest[g], self.priority[row])

    cdef int64_t worth(self, Py_ssize_t row) noexcept nogil:
        """The priority of the pod's unit. A pod whose group has no known priority is in no unit."""
        cdef int32_t g = self.group[row]
        if g < 0 or not self.exists[g]:
            return self.priority[row]
        if self.known[g] and not self.whole[g] and self.lowest[g] == self.unsaid:
            return self.priority[row]
        return self.lowest[g] if self.known[g] else self.below

    cdef void choose(self) noexcept nogil:
        """Which single pods and which groups are units, and where the part of each group begins."""
        cdef Py_ssize_t row, groups = self.lowest.shape[0]
        cdef int32_t g
        self.alone = self.together = self.members = 0
        for row in range(self.node.shape[0]):
            g = self.group[row]
            if not self.counts(row) or (g >= 0 and g == self.but) or self.worth(row) >= self.below:
                continue
            if g >= 0 and self.whole[g]:
                if self.sizes[g] == 0 or self.start[row] < self.starts[g]:
                    self.starts[g] = self.start[row]
                self.sizes[g] += 1
                self.stays[g] |= self.flags[row] & self.fixed
                self.here[g] |= self.on[self.node[row]]
            elif self.on[self.node[row]] and not self.flags[row] & self.fixed:
                self.single[self.alone] = <int32_t>row
                self.alone += 1
        for g in range(groups):
            self.places[g] = -1
            if self.sizes[g] and self.here[g] and not self.stays[g]:
                self.places[g] = self.members
                self.members += self.sizes[g]
                self.together += 1

    cdef units(self):
        cdef Py_ssize_t units = self.alone + self.together, unit = 0, at, row
        cdef int32_t g
        cdef int64_t[::1] priority = np.empty(units, np.int64), start = np.empty(units, np.int64)
        cdef int64_t[::1] size = np.ones(units, np.int64), first = np.empty(units + 1, np.int64)
        cdef uint8_t[::1] whole = np.zeros(units, np.uint8)
        cdef int64_t[::1] rows = np.empty(self.members + self.alone, np.int64)
        with nogil:
            for g in range(self.lowest.shape[0]):
                if self.places[g] >= 0:
                    priority[unit], start[unit], size[unit] = self.lowest[g], self.starts[g], self.sizes[g]
                    whole[unit], first[unit] = 1, self.places[g]
                    unit += 1
            if self.together:
                self.list_members(rows)
            for at in range(self.alone):
                row = self.single[at]
                g = self.group[row]
                priority[unit], start[unit] = self.worth(row), self.start[row]
                if g >= 0 and self.exists[g] and self.running[g] <= self.minimum[g]:
                    start[unit] -= self.needed_seconds
                first[unit], rows[self.members + at] = self.members + at, row
                unit += 1
            first[units] = self.members + self.alone
        return (
            np.asarray(priority), np.asarray(start), np.asarray(size), np.asarray(whole),
            np.asarray(first), np.asarray(rows),
        )

    cdef void list_members(self, int64_t[::1] rows) noexcept nogil:
        cdef Py_ssize_t row
        cdef int32_t g
        for row in range(self.node.shape[0]):
            g = self.group[row]
            if g >= 0 and self.places[g] >= 0 and self.counts(row):
                rows[self.places[g]] = row
                self.places[g] += 1


# ---- their order


def sorted_by(keys):
    """The order of the units by these keys [U], the first one before all others. Equal units stay in order.

    A sort by digits, from the last key to the first, of words of 64 bits. A word holds the number of a
    unit, and as much of the keys as there is room for.
    """
    cdef Py_ssize_t units = len(keys[0])
    cdef int index = max(0, units - 1).bit_length(), used = index, width, done, part
    cdef uint64_t[::1] words = np.arange(units, dtype=np.uint64)
    cdef uint64_t low
    for key in reversed(keys) if units else ():
        width = _range(key, &low)
        done = 0
        while done < width:
            if used == WORD:
                words, used = _by_digits(words, index, used), index
            part = min(width - done, WORD - used)
            _pack(words, key, low, done, part, index, used)
            used, done = used + part, done + part
    words = _by_digits(words, index, used)
    return np.asarray(words).view(np.int64)


cdef int _range(const int64_t[::1] key, uint64_t* low):
    """How many bits the key needs, less its least value, which is `low`."""
    cdef Py_ssize_t unit
    cdef int64_t least = key[0], most = key[0]
    for unit in range(key.shape[0]):
        least, most = min(least, key[unit]), max(most, key[unit])
    low[0] = <uint64_t>least
    return (<uint64_t>most - <uint64_t>least).bit_length()


cdef uint64_t _ones(int bits) noexcept nogil:
    return ~<uint64_t>0 if bits == WORD else (<uint64_t>1 << bits) - 1


cdef void _pack(
    uint64_t[::1] words, const int64_t[::1] key, uint64_t low, int done, int part, int index, int used
) noexcept nogil:
    """Write bits of the key into the words. `done`: its lower bits that are not written any more."""
    cdef Py_ssize_t at
    cdef uint64_t unit = _ones(index), bits = _ones(part)
    for at in range(words.shape[0]):
        words[at] |= ((<uint64_t>key[words[at] & unit] - low) >> done & bits) << used


cdef uint64_t[::1] _by_digits(uint64_t[::1] words, int index, int used):
    """The words in the order of the bits from `index` to `used`. Of these, only the lower bits stay."""
    cdef uint64_t[::1] other = np.empty_like(words)
    cdef int64_t[::1] ends = np.empty(DIGITS, np.int64)
    cdef int shift = index
    cdef Py_ssize_t at
    while shift < used:
        if _distribute(words, other, ends, shift):
            words, other = other, words
        shift += DIGIT
    for at in range(words.shape[0]):
        words[at] &= _ones(index)
    return words


cdef bint _distribute(
    uint64_t[::1] words, uint64_t[::1] other, int64_t[::1] ends, int shift,
) noexcept nogil:
    """Sort by one digit, into `other`. False, and nothing is done, if all have the same digit."""
    cdef Py_ssize_t at, digit, units = words.shape[0]
    cdef int64_t place = 0, count
    for digit in range(DIGITS):
        ends[digit] = 0
    for at in range(units):
        ends[(words[at] >> shift) & (DIGITS - 1)] += 1
    for digit in range(DIGITS):
        count = ends[digit]
        if count == units:
            return False
        ends[digit] = place
        place += count
    for at in range(units):
        digit = (words[at] >> shift) & (DIGITS - 1)
        other[ends[digit]] = words[at]
        ends[digit] += 1
    return True


def rearranged(const int64_t[::1] first, const int64_t[::1] pods, const int64_t[::1] order):
    """Where each unit's part of `pods` begins [U + 1], and those rows, with the units in the given order."""
    cdef Py_ssize_t unit, row, at = 0, units = order.shape[0]
    cdef int64_t[::1] begins = np.empty(units + 1, np.int64), rows = np.empty(pods.shape[0], np.int64)
    with nogil:
        for unit in range(units):
            begins[unit] = at
            for row in range(first[order[unit]], first[order[unit] + 1]):
                rows[at] = pods[row]
                at += 1
        begins[units] = at
    return np.asarray(begins), np.asarray(rows)


# ---- their room


def free_up(
    int64_t[:, ::1] room, const int64_t[::1] pods, const int32_t[::1] pod_node, const int32_t[::1] pod_class,
    const int64_t[:, ::1] requests
):
    """Add to the room [N, R] of each node what these pods hold there. `requests` [C, R]: of each class.

    Pods that are not bound hold nothing.
    """
    cdef Py_ssize_t at, r
    cdef int32_t node, row
    with nogil:
        for at in range(pods.shape[0]):
            node, row = pod_node[pods[at]], pod_class[pods[at]]
            if node >= 0:
                for r in range(room.shape[1]):
                    room[node, r] += requests[row, r]


# ---- their pieces


cdef int _ascending(const void* one, const void* other) noexcept nogil:
    cdef int64_t a = (<int64_t*>one)[0], b = (<int64_t*>other)[0]
    return (a > b) - (a < b)


def pieces_of(
    const int64_t[::1] first, const int64_t[::1] pods, const int32_t[::1] pod_node,
    const int32_t[::1] pod_class, const int64_t[:, ::1] requests, const int64_t[::1] index, Py_ssize_t nodes,
):
    """The part of each unit on each of the problem's nodes. `index` [N]: a node's number there, -1 for none.

    Returns unit_pieces, piece_unit, piece_node, piece_room, node_pieces and node_piece of
    `native.nodes.problem.Problem`, for units that bring no tokens.
    """
    cdef Py_ssize_t units = first.shape[0] - 1, unit, at, row, i, r, count, piece = 0, widest = 0
    cdef Py_ssize_t resources = requests.shape[1]
    cdef int64_t node
    for unit in range(units):
        widest = max(widest, first[unit + 1] - first[unit])
    cdef int64_t[::1] mine = np.empty(widest + 1, np.int64)
    cdef int32_t[::1] unit_pieces = np.empty(units + 1, np.int32), node_pieces = np.zeros(nodes + 1, np.int32)
    cdef int32_t[::1] piece_unit = np.empty(pods.shape[0], np.int32), ends
    cdef int32_t[::1] piece_node = np.empty(pods.shape[0], np.int32)
    cdef int64_t[:, ::1] room = np.empty((pods.shape[0], resources), np.int64)
    cdef int32_t[::1] node_piece
    with nogil:
        for unit in range(units):
            unit_pieces[unit] = <int32_t>piece
            count = 0
            for at in range(first[unit], first[unit + 1]):
                node = index[pod_node[pods[at]]]
                if node >= 0:
                    mine[count] = node << 32 | at
                    count += 1
            if count > 1:
                qsort(&mine[0], count, sizeof(int64_t), _ascending)
            for i in range(count):
                node, row = mine[i] >> 32, pods[mine[i] & HALF]
                if i and node == mine[i - 1] >> 32:
                    for r in range(resources):
                        room[piece - 1, r] += requests[pod_class[row], r]
                    continue
                piece_unit[piece], piece_node[piece] = <int32_t>unit, <int32_t>node
                for r in range(resources):
                    room[piece, r] = requests[pod_class[row], r]
                node_pieces[node + 1] += 1
                piece += 1
        unit_pieces[units] = <int32_t>piece
        for i in range(nodes):
            node_pieces[i + 1] += node_pieces[i]
    node_piece, ends = np.empty(piece, np.int32), np.array(node_pieces, np.int32)
    with nogil:
        for at in range(piece):
            node_piece[ends[piece_node[at]]] = <int32_t>at
            ends[piece_node[at]] += 1
    return {
        "unit_pieces": np.asarray(unit_pieces), "piece_unit": np.asarray(piece_unit)[:piece],
        "piece_node": np.asarray(piece_node)[:piece], "piece_room": np.asarray(room)[:piece],
        "node_pieces": np.asarray(node_pieces), "node_piece": np.asarray(node_piece),
    }


# ---- their budgets


def budgets_of(
    const int64_t[::1] first, const int64_t[::1] pods, const int32_t[::1] pod_labels,
    const int32_t[::1] label_budget
):
    """How many pods of each unit count against which budget. `label_budget`: of each label set, -1 for none.

    Returns unit_budgets, budget and budget_pods of `native.nodes.problem.Problem`.
    """
    cdef Py_ssize_t units = first.shape[0] - 1, unit, at, i, count, drawn = 0, widest = 0
    cdef int64_t budget
    for unit in range(units):
        widest = max(widest, first[unit + 1] - first[unit])
    cdef int64_t[::1] mine = np.empty(widest + 1, np.int64)
    cdef int32_t[::1] unit_budgets = np.empty(units + 1, np.int32)
    cdef int32_t[::1] row = np.empty(pods.shape[0], np.int32), row_pods = np.empty(pods.shape[0], np.int32)
    with nogil:
        for unit in range(units):
            unit_budgets[unit] = <int32_t>drawn
            count = 0
            for at in range(first[unit], first[unit + 1]):
                budget = label_budget[pod_labels[pods[at]]]
                if budget >= 0:
                    mine[count] = budget
                    count += 1
            if count > 1:
                qsort(&mine[0], count, sizeof(int64_t), _ascending)
            for i in range(count):
                if i and mine[i] == mine[i - 1]:
                    row_pods[drawn - 1] += 1
                    continue
                row[drawn], row_pods[drawn] = <int32_t>mine[i], 1
                drawn += 1
        unit_budgets[units] = <int32_t>drawn
    return {
        "unit_budgets": np.asarray(unit_budgets), "budget": np.asarray(row)[:drawn],
        "budget_pods": np.asarray(row_pods)[:drawn],
    }
