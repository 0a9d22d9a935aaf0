"""The plain twin of native/nodes/_units.pyx."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["budgets_of", "free_up", "list_units", "pieces_of", "rearranged", "sorted_by"]

Ints = Sequence[int]
NO_GROUP = (0, 0, 0, 0, -1)


def list_units(
    pods: Sequence[Ints],
    groups: Sequence[Ints],
    on: Ints,
    below: int,
    but: int,
    rules: tuple[int, int, int, int],
) -> tuple[list[int], ...]:
    """The units: their priorities, starts, sizes, whether they go whole, first and pods."""
    node, flags, group, own, start, live = pods
    terminating, fixed, needed_seconds, unsaid = rules
    runs = [i for i in range(len(node)) if live[i] and node[i] >= 0 and not flags[i] & terminating]

    def of(g: int) -> Ints:
        return [column[g] for column in groups] if g >= 0 else NO_GROUP

    def worth(i: int) -> int:
        exists, _, whole, priority, _ = of(group[i])
        if not exists:
            return own[i]
        if not whole:
            return own[i] if priority == unsaid else priority
        return min([priority, *(own[k] for k in runs if group[k] == group[i])])

    def unit_of(i: int) -> tuple[int, int]:
        return (0, group[i]) if of(group[i])[2] else (1, i)

    def needed(i: int) -> bool:
        exists, _, whole, _, minimum = of(group[i])
        running = sum(group[k] == group[i] for k in runs)
        return bool(exists) and not whole and running <= minimum

    found: dict[tuple[int, int], list[int]] = {}
    for i in runs:
        exists, known, *_ = of(group[i])
        if (but < 0 or group[i] != but) and known >= exists and worth(i) < below:
            found.setdefault(unit_of(i), []).append(i)
    units = [
        rows
        for _, rows in sorted(found.items())
        if any(on[node[i]] for i in rows) and not any(flags[i] & fixed for i in rows)
    ]
    return (
        [worth(rows[0]) for rows in units],
        [min(start[i] for i in rows) - needed(rows[0]) * needed_seconds for rows in units],
        [len(rows) for rows in units],
        [of(group[rows[0]])[2] for rows in units],
        [sum(map(len, units[:i])) for i in range(len(units) + 1)],
        [i for rows in units for i in rows],
    )


def sorted_by(keys: Sequence[Ints]) -> list[int]:
    """The order of the columns."""
    return sorted(range(len(keys[0])), key=lambda i: [key[i] for key in keys])


def rearranged(first: Ints, pods: Ints, order: Ints) -> tuple[list[int], list[int]]:
    """Where the part of each unit begins, and the pods, in this order of the units."""
    parts = [pods[first[unit] : first[unit + 1]] for unit in order]
    return [sum(map(len, parts[:i])) for i in range(len(parts) + 1)], [pod for part in parts for pod in part]


def free_up(
    room: list[list[int]], pods: Ints, pod_node: Ints, pod_class: Ints, requests: Sequence[Ints]
) -> None:
    """Add what the pods hold to the room of their nodes."""
    for pod in pods:
        if pod_node[pod] >= 0:
            for r, amount in enumerate(requests[pod_class[pod]]):
                room[pod_node[pod]][r] += amount


def pieces_of(
    first: Ints,
    pods: Ints,
    pod_node: Ints,
    pod_class: Ints,
    requests: Sequence[Ints],
    index: Ints,
    nodes: int,
) -> dict[str, list[int] | list[list[int]]]:
    """The pieces, by the names of `native.nodes.problem.Problem`."""
    rooms: dict[tuple[int, int], list[int]] = {}
    for unit in range(len(first) - 1):
        for pod in pods[first[unit] : first[unit + 1]]:
            node = index[pod_node[pod]]
            if node >= 0:
                room = rooms.setdefault((unit, node), [0] * len(requests[0]))
                for r, amount in enumerate(requests[pod_class[pod]]):
                    room[r] += amount
    keys = sorted(rooms)
    by_node = sorted(range(len(keys)), key=lambda piece: keys[piece][1])
    return {
        "unit_pieces": [sum(unit < u for unit, _ in keys) for u in range(len(first))],
        "piece_unit": [unit for unit, _ in keys],
        "piece_node": [node for _, node in keys],
        "piece_room": [rooms[key] for key in keys],
        "node_pieces": [sum(node < n for _, node in keys) for n in range(nodes + 1)],
        "node_piece": by_node,
    }


def budgets_of(first: Ints, pods: Ints, pod_labels: Ints, label_budget: Ints) -> dict[str, list[int]]:
    """What the units draw on budgets, by the names of `native.nodes.problem.Problem`."""
    drawn: list[tuple[int, int, int]] = []
    ends = [0]
    for unit in range(len(first) - 1):
        budgets = [label_budget[pod_labels[pod]] for pod in pods[first[unit] : first[unit + 1]]]
        drawn += [(unit, each, budgets.count(each)) for each in sorted(set(budgets)) if each >= 0]
        ends.append(len(drawn))
    return {
        "unit_budgets": ends,
        "budget": [budget for _, budget, _ in drawn],
        "budget_pods": [count for *_, count in drawn],
    }
