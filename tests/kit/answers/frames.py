"""Frames, put into maps as the page does it (`web/app/src/map/frames.ts`)."""

from __future__ import annotations

from typing import Any

from answers.map.blocks import natural

__all__ = ["applied"]

AMOUNTS = ("allocatable", "used", "leaving", "promised", "free", "anonymous")
Gang = tuple[str, str, str]
"""Namespace, key, and the name that is shown."""


def applied(before: dict[str, Any], frame: dict[str, Any]) -> dict[str, Any]:
    """The map after the frame."""
    nodes, parts = _nodes_of(before), _parts_of(before)
    for name in (*frame["gone"], *frame["nodes"]["name"]):
        nodes.pop(name, None)
        parts.pop(name, None)
    columns = frame["nodes"]
    for at, name in enumerate(columns["name"]):
        nodes[name] = columns["block"][at], [columns[each][at] for each in AMOUNTS]
    for name, gang, row in _parts(frame["parts"], columns["name"], _gangs_of(frame["gangs"])):
        parts.setdefault(name, {})[gang] = row
    plans = _plans_of(before)
    if frame["plans"] is not None:
        gangs = _gangs_of(frame["gangs"])
        plans |= {
            _id(each): _named(each, each["promised"]["node"], gangs, None)
            for each in frame["plans"]["changed"]
        }
        plans = {each: plans[each] for each in frame["plans"]["order"]}
    changed = {key: frame[key] for key in ("topologyKeys", "resources") if frame[key] is not None}
    return {**before, **changed, **_whole(nodes, parts, plans)}


def _id(plan: dict[str, Any]) -> str:
    return "/".join((plan["kind"], plan["namespace"], plan["name"], plan["uid"]))


def _gangs_of(columns: dict[str, Any]) -> list[Gang]:
    return [*zip(columns["namespace"], columns["key"], columns["name"], strict=True)]


def _nodes_of(found: dict[str, Any]) -> dict[str, Any]:
    columns, blocks = found["nodes"], found["blocks"]
    return {
        name: (blocks[columns["block"][at]], [columns[each][at] for each in AMOUNTS])
        for at, name in enumerate(columns["name"])
    }


def _parts(parts: dict[str, Any], names: list[str], gangs: list[Gang]) -> list[tuple[str, Any, list[int]]]:
    return [
        (
            names[node],
            gangs[gang] if gang >= 0 else None,
            [parts[each][at] for each in ("pods", "used", "leaving")],
        )
        for at, (node, gang) in enumerate(zip(parts["node"], parts["gang"], strict=True))
    ]


def _parts_of(found: dict[str, Any]) -> dict[str, dict[Gang | None, list[int]]]:
    parts = dict[str, dict[Gang | None, list[int]]]()
    for name, gang, row in _parts(found["parts"], found["nodes"]["name"], _gangs_of(found["gangs"])):
        parts.setdefault(name, {})[gang] = row
    return parts


def _named(plan: dict[str, Any], _: Any, gangs: list[Gang], names: list[str] | None) -> dict[str, Any]:
    """The plan with names in place of places."""

    def rows(columns: dict[str, Any]) -> list[tuple[str, Gang | None, int, int]]:
        return [
            (names[node] if names is not None else node, gangs[gang] if gang >= 0 else None, pods, amount)
            for node, gang, pods, amount in zip(*(columns[each] for each in COLUMNS), strict=True)
        ]

    gang = gangs[plan["gang"]] if plan["gang"] >= 0 else None
    return {**plan, "gang": gang, "promised": rows(plan["promised"]), "victims": rows(plan["victims"])}


COLUMNS = ("node", "gang", "pods", "amount")


def _plans_of(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    gangs, names = _gangs_of(found["gangs"]), found["nodes"]["name"]
    return {_id(each): _named(each, None, gangs, names) for each in found["plans"]}


def _whole(nodes: dict[str, Any], parts: dict[str, Any], plans: dict[str, Any]) -> dict[str, Any]:
    blocks = sorted(
        {block for block, _ in nodes.values()},
        key=lambda each: (each is None, natural(each or ""), each or ""),
    )
    place = {block: at for at, block in enumerate(blocks)}
    names = sorted(nodes, key=lambda each: (place[nodes[each][0]], natural(each), each))
    held = {gang for those in parts.values() for gang in those} | {
        row[1] for plan in plans.values() for row in plan["promised"]
    }
    gangs = sorted(each for each in held if each is not None)
    node_at = {name: at for at, name in enumerate(names)}
    gang_at: dict[Gang | None, int] = {gang: at for at, gang in enumerate(gangs)} | {None: -1}
    rows = sorted(
        (node_at[name], gang_at[gang], *row) for name, those in parts.items() for gang, row in those.items()
    )
    return {
        "blocks": blocks,
        "nodes": {
            "name": names,
            "block": [place[nodes[each][0]] for each in names],
            **{key: [nodes[each][1][at] for each in names] for at, key in enumerate(AMOUNTS)},
        },
        "gangs": {
            "namespace": [each[0] for each in gangs],
            "name": [each[2] for each in gangs],
            "key": [each[1] for each in gangs],
        },
        "parts": {
            key: [row[at] for row in rows]
            for at, key in enumerate(("node", "gang", "pods", "used", "leaving"))
        },
        "plans": [_placed(each, node_at, gang_at) for each in plans.values()],
    }


def _placed(plan: dict[str, Any], nodes: dict[str, int], gangs: dict[Gang | None, int]) -> dict[str, Any]:
    def columns(rows: list[Any]) -> dict[str, list[int]]:
        placed = sorted((nodes[node], gangs.get(gang, -1), pods, amount) for node, gang, pods, amount in rows)
        return {key: [row[at] for row in placed] for at, key in enumerate(COLUMNS)}

    return {
        **plan,
        "gang": gangs.get(plan["gang"], -1),
        "promised": columns(plan["promised"]),
        "victims": columns(plan["victims"]),
    }
