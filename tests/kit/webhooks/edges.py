"""Requests at the edges of what schemas allow: whole objects, with one field of each absent, empty, a bit too long."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any, Final

from api.crds import schema_of
from schema import KNOWN
from tests.kit.full import KINDS, full
from tests.kit.manifests import (
    TIME,
    cluster_queue,
    condition,
    gate_state,
    pod_group,
    preemption,
    reserved,
    workload,
)
from tests.kit.webhooks.cases import Case, Expected

__all__ = ["edge"]

Json = dict[str, Any]
Path = tuple[Any, ...]


class ABSENT:
    """In place of a value: the field is not there. A class, since copies of it are itself."""


ANY: Final[tuple[Any, ...]] = (
    ABSENT,
    None,
    "",
    0,
    1,
    -1,
    True,
    [],
    {},
    "x",
    1.5,
    3.0,
    {"unknown": 1},
    [None],
    ["a", "a"],
    [{}],
)
TEXTS: Final = (
    *("a.b", "A", "-a", "a b", "a\n", "a/b", "a/b/c", "1", "10m", "-1", "1e3", "1K", "0.5n", "1.1n", "1e1.5"),
    *("1h", "59s", TIME, "2026-01-02t03:04:05z", "2027-01-01T00:00:00+01:00", "0001-01-01T00:00:00Z"),
)
NUMBERS: Final = (2, 5, 100, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, 2**63, 1e19)
LONGEST: Final = 40_000
EXPECTED: Final = Expected(True, None, [], [])
"""Nobody asks."""


def _bases() -> list[Json]:
    check = {"name": "c", "state": "Ready", "lastTransitionTime": TIME, "message": ""}
    held = workload(
        status=reserved(
            reclaimablePods=[{"name": "workers", "count": 1}],
            admissionChecks=[check | {"podSetUpdates": [{"name": "driver", "labels": {"a": "b"}}]}],
            preemptionGates=[gate_state("gate", "Closed")],
        ),
        preemptionGates=[{"name": "gate"}],
        queueName="q",
        maximumExecutionTimeSeconds=60,
    )
    elastic = copy.deepcopy(held)
    elastic["metadata"]["annotations"] = {
        "kueue.x-k8s.io/elastic-job": "true",
        "kueue.x-k8s.io/admission-gated-by": "a.b/c,d.e/f",
    }
    elastic["status"]["conditions"].append(condition("Admitted"))
    timed = preemption(
        withinClusterQueue="LowerOrNewerEqualPriority", withinClusterQueueConfig={"minAdmitDuration": "30m"}
    )
    queue = cluster_queue(annotations={"reprieve.dev/min-admit-duration": "1h"}, preemption=timed)
    group = pod_group(priority=0, disruptionMode={"all": {}})
    return [*map(full, KINDS), held, elastic, queue, group]


def _prepared(base: Json) -> Json:
    kind = KNOWN[base["kind"]]
    namespace = {"namespace": "default"} if kind.namespaced else {}
    metadata = {key: part for key, part in base["metadata"].items() if key == "annotations"}
    return {**base, "apiVersion": kind.api_version, "metadata": {**metadata, "name": "edge", **namespace}}


BASES: Final = [_prepared(base) for base in _bases()]


def edge(random: Random) -> Case:
    """The request that belongs to the state of `random`."""
    base = random.choice(BASES)
    kind, has_status = base["kind"], KNOWN[base["kind"]].has_status
    path, schema = random.choice(list(_places(base, schema_of(kind))))
    changed = _with(base, path, random.choice(_values(_at(base, path), schema)))
    touched = _with(changed, ("metadata", "labels"), {"a": "b"})
    pairs = [(base, changed), (changed, touched), (changed, base)]
    old, new = random.choice(pairs if path[0] == "status" else [(None, changed), *pairs])
    to_status = old is not None and has_status and random.random() < (0.8 if path[0] == "status" else 0.1)
    return Case(
        id=".".join(map(str, path)),
        kind=kind,
        operation="CREATE" if old is None else "UPDATE",
        subresource="status" if to_status else "",
        object=copy.deepcopy(new),
        old_object=copy.deepcopy(old),
        expect=EXPECTED,
        tags=[],
    )


def _places(value: Any, schema: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Fields that are there or could be, and items; of the object as a whole only what a user writes."""
    if isinstance(value, dict):
        others = schema.get("additionalProperties")
        for name in {**schema.get("properties", {}), **value}:
            if path or name not in ("apiVersion", "kind", "metadata"):
                part = schema.get("properties", {}).get(name, others if isinstance(others, dict) else {})
                yield (*path, name), part
                if name in value:
                    yield from _places(value[name], part, (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield (*path, index), schema.get("items", {})
            yield from _places(item, schema.get("items", {}), (*path, index))


def _at(whole: Any, path: Path) -> Any:
    for key in path[:-1]:
        whole = whole[key]
    return whole[path[-1]] if isinstance(whole, list) else whole.get(path[-1], ABSENT)


def _with(whole: Json, path: Path, value: Any) -> Json:
    made = copy.deepcopy(whole)
    place: Any = made
    for key in path[:-1]:
        place = place[key]
    if value is not ABSENT:
        place[path[-1]] = copy.deepcopy(value)
    elif isinstance(place, list):
        del place[path[-1]]
    else:
        place.pop(path[-1], None)
    return made


def _values(present: Any, schema: Json) -> list[Any]:
    values = [*ANY, *schema.get("enum", ())]
    if schema.get("maxLength", LONGEST) < LONGEST:
        values += [character * schema["maxLength"] + more for character in "xé" for more in ("", "x")]
    if schema.get("type") == "string" or "x-kubernetes-int-or-string" in schema:
        values += TEXTS
    if schema.get("type") == "integer" or "x-kubernetes-int-or-string" in schema:
        values += [*NUMBERS, schema.get("minimum", 0) - 1]
    if isinstance(present, list) and present:
        values += [present * 2, present[:-1], present[::-1], *_lists(present[0], schema)]
    if isinstance(present, dict) and present:
        most = schema.get("maxProperties", 1)
        values += [
            {**present, "a b": "c d"},
            *({f"k{i}": "v" for i in range(most + more)} for more in (0, 1)),
        ]
    return values


def _lists(item: Any, schema: Json) -> Iterator[list[Any]]:
    """As long as may be, and one longer, of items with keys of their own."""
    keys = schema.get("x-kubernetes-list-map-keys", ["name"])
    for length in (
        (schema["maxItems"], schema["maxItems"] + 1) if schema.get("maxItems", LONGEST) < 100 else ()
    ):
        names = (f"n{number}" for number in range(length))
        yield [{**item, **dict.fromkeys(keys, name)} if isinstance(item, dict) else name for name in names]
