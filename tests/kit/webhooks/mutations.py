"""Requests that nobody thought of: those of the conformance cases, and of our own kinds, changed at random."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any, Final, NamedTuple

from api.crds import schema_of
from tests.kit.webhooks.cases import Case, Expected, cases

__all__ = ["mutated", "seeds"]

Json = dict[str, Any]

NUMBERS: Final = (0, 1, -1, 3, 9, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 1.0, 1.5, -0.0, 1e3, 1e19, 1e300)
TEXTS: Final = (
    *("", "a", "b", "main", "x.y", "A", "a b", "é", "x" * 64, "x" * 254, "a\n", "K", "s\u017f"),
    *("cpu", "memory", "1", "1.5", "10m", "1e1.5", "-1", "1Ki", "1K", ".", "60s", "1m", "1h30m", "59s", "1d"),
    *("example.com/a", "example.com/", "/a", "a/b/c", "system-node-critical", "True", "Any", "Never", "None"),
    *(
        "Exists",
        "Equal",
        "NoExecute",
        "NoSchedule",
        "TryNextFlavor",
        "LowerPriority",
        "LowerOrNewerEqualPriority",
    ),
    *("2026-01-02T03:04:05Z", "2026-01-02t03:04:05z", "2026-01-02T03:04:05.5+01:00", "2026-13-02T03:04:05Z"),
    *(
        "Open",
        "Closed",
        "Retry",
        "Ready",
        "QuotaReserved",
        "Admitted",
        "PriorityClass",
        "WorkloadPriorityClass",
    ),
    *("scheduling.k8s.io", "kueue.x-k8s.io"),
)
OTHERS: Final[tuple[Any, ...]] = (
    None,
    True,
    False,
    [],
    {},
    [None],
    ["a", "a"],
    [{}],
    {"a": None},
    {"a": "b"},
)

GROUP: Final[Json] = {
    "apiVersion": "reprieve.dev/v1alpha1",
    "kind": "PodGroup",
    "metadata": {"name": "g", "namespace": "default"},
    "spec": {
        "schedulingPolicy": {"gang": {"minCount": 2}},
        "disruptionMode": {"all": {}},
        "schedulingConstraints": {"topology": [{"key": "zone"}]},
        "priorityClassName": "high",
        "priority": 1000,
        "preemptionPolicy": "Never",
    },
}
TIMED: Final[Json] = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "ClusterQueue",
    "metadata": {"name": "timed"},
    "spec": {
        "preemption": {
            "withinClusterQueue": "LowerOrNewerEqualPriority",
            "withinClusterQueueConfig": {"minAdmitDuration": "30m"},
        }
    },
}


EXPECTED: Final = Expected(True, None, [], [])
"""Nobody asks."""


BELOW: Final = ("spec", "status", "value", "description")
STRING: Final[Json] = {"type": "string"}
STRINGS: Final[Json] = {"type": "object", "additionalProperties": STRING}
OWNER: Final[Json] = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("apiVersion", "kind", "name", "uid"), STRING),
        "controller": {"type": "boolean"},
    },
    "required": ["apiVersion", "kind", "name"],
}
METADATA: Final[Json] = {
    "properties": {
        "labels": STRINGS,
        "annotations": STRINGS,
        "finalizers": {"type": "array", "items": STRING},
        "ownerReferences": {"type": "array", "items": OWNER},
    }
}
"""What is changed of the metadata."""


class Place(NamedTuple):
    """A key of an object or an index of a list, with the schema of what is there, or could be."""

    container: Any
    key: Any
    schema: Json


def seeds() -> list[Case]:
    """What is changed."""
    ours = [
        case
        for whole in (GROUP, TIMED)
        for case in (
            Case("ours", whole["kind"], "CREATE", "", whole, None, EXPECTED, []),
            Case("ours", whole["kind"], "UPDATE", "", whole, whole, EXPECTED, []),
        )
    ]
    return [*cases(), *ours * 40]


def mutated(case: Case, random: Random) -> Case:
    """The request with up to three changes of what is sent, and sometimes of what is stored as well."""
    changed = copy.deepcopy(case)
    for _ in range(random.randint(1, 3)):
        _mutate(changed.object, schema_of(case.kind), random)
    if changed.old_object is not None and random.random() < 0.3:
        # Of what is stored, most stays in what is sent.
        changed.old_object = {**copy.deepcopy(changed.object), "metadata": changed.old_object["metadata"]}
        _mutate(changed.old_object, schema_of(case.kind), random)
    return changed


def _mutate(whole: Json, schema: Json, random: Random) -> None:
    place = random.choice(list(_places(whole, schema)))
    match place.container:
        case dict() as fields:
            choice = random.random()
            if choice < 0.2:
                fields.pop(place.key, None)
            elif choice < 0.23:
                fields["unknown"] = 1
            else:
                fields[place.key] = _value(place.schema, random)
        case list() as items:
            choice = random.random()
            if choice < 0.2:
                del items[place.key]
            elif choice < 0.4:
                items.append(copy.deepcopy(items[place.key]))
            elif choice < 0.5:
                random.shuffle(items)
            else:
                items[place.key] = _value(place.schema, random)
        case _:
            raise TypeError(place)


def _places(value: Any, schema: Json, depth: int = 0) -> Iterator[Place]:
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        if depth == 0:
            properties = {name: properties[name] for name in BELOW if name in properties}
            yield from _places(value["metadata"], METADATA, 1)
        others = schema.get("additionalProperties")
        for name in dict.fromkeys([*properties, *(value if depth and schema is not METADATA else ())]):
            part = properties.get(name, others if isinstance(others, dict) else {})
            yield Place(value, name, part)
            if name in value:
                yield from _places(value[name], part, depth + 1)
        if isinstance(others, dict):
            yield Place(value, "a", others)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield Place(value, index, schema.get("items", {}))
            yield from _places(item, schema.get("items", {}), depth + 1)


def _value(schema: Json, random: Random, depth: int = 3) -> Any:
    """Mostly one that is of the type, or nearly."""
    if random.random() < 0.15:
        return copy.deepcopy(random.choice((*NUMBERS, *TEXTS, *OTHERS)))
    if "enum" in schema and random.random() < 0.8:
        return random.choice(schema["enum"])
    match schema.get("type"):
        case "boolean":
            return random.random() < 0.5
        case "integer" | "number":
            return random.choice(NUMBERS)
        case "array":
            items = [_value(schema.get("items", {}), random, depth - 1) for _ in range(random.randint(0, 3))]
            return items * (9 if random.random() < 0.1 else 1)
        case "object" if depth > 0:
            return _fields(schema, random, depth)
        case "object":
            return {}
        case _:
            return random.choice((*TEXTS, *NUMBERS) if "x-kubernetes-int-or-string" in schema else TEXTS)


def _fields(schema: Json, random: Random, depth: int) -> Json:
    properties: Json = schema.get("properties", {})
    required = schema.get("required", ())
    chosen = [
        name for name in properties if name in required or random.random() < min(0.5, 3 / len(properties))
    ]
    fields = {name: _value(properties[name], random, depth - 1) for name in chosen}
    if isinstance(others := schema.get("additionalProperties"), dict):
        fields |= {name: _value(others, random, depth - 1) for name in ("a", "cpu") if random.random() < 0.5}
    return fields
