"""Pods of a dump make the same tables, and have the same faults, as if nothing was remembered of other pods."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from unittest import mock

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from answers.errors import InputError
from answers.reading import field_checks
from answers.reading.node_objects import NodeObjects
from api import requests, times
from api.core import Pod
from nodes.state.columns.classes import PodClass, pod_class
from nodes.state.columns.known_classes import KnownClasses
from nodes.state.pods import pods as pod_table
from tests.kit.examples import examples

AMOUNTS: Final[list[Any]] = [
    "1", "1", "2", "100m", "0", "0.1", "1.0005", "100u", "1n", "1e3", "1Ki", "64Mi", "0.5Gi", 1, 1.5, None,
    " 1", "-1", "1x", "", "9223372036854775807", "12345678901234567890", "1e400", "0" * 70 + "1", True,
]  # fmt: skip
NAMES: Final = [
    "cpu",
    "cpu",
    "memory",
    "ephemeral-storage",
    "pods",
    "example.com/gpu",
    "hugepages-2Mi",
    "none",
]
TIMES: Final = [
    None, "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "2026-02-29T00:00:00Z", "2026-01-01T24:00:00Z",
    "2026-01-01T00:00:60Z", "2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00.999999999Z", "0001-01-01T00:00:00Z",
    "0000-12-31T23:59:59Z", "1969-12-31T23:59:59.5Z", "9999-12-31T23:59:59-01:00", "2026-01-01t00:00:00Z", "soon", "",
]  # fmt: skip
PLAIN_TIMES: Final = TIMES[1:3]


def quantities() -> st.SearchStrategy[msgspec.Raw | None]:
    """An object of JSON, in which a key may stand twice."""
    pair = st.tuples(st.sampled_from(NAMES), st.sampled_from(AMOUNTS[:7]) | st.sampled_from(AMOUNTS))
    text = st.lists(pair, max_size=3).map(
        lambda pairs: ",".join(f'"{name}":{msgspec.json.encode(amount).decode()}' for name, amount in pairs)
    )
    return st.none() | text.map(lambda inside: msgspec.Raw(f"{{{inside}}}".encode()))


def resources() -> st.SearchStrategy[dict[str, Any] | None]:
    """Often limits without requests."""
    both = st.fixed_dictionaries({}, optional={"requests": quantities(), "limits": quantities()})
    return st.none() | both


def containers(least: int) -> st.SearchStrategy[list[dict[str, Any]]]:
    container = st.fixed_dictionaries(
        {"name": st.sampled_from("abc"), "resources": resources()},
        optional={
            "restartPolicy": st.sampled_from(["Always", None]),
            "ports": st.lists(st.fixed_dictionaries({"containerPort": st.sampled_from([80, 81])}, optional={
                "hostPort": st.sampled_from([0, 80])}), max_size=2),
        },
    )  # fmt: skip
    return st.lists(container, min_size=least, max_size=2)


def specs() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"containers": containers(0) | containers(1), "priority": st.sampled_from([0, 5])},
        optional={
            "nodeName": st.sampled_from(["", "n1"]),
            "initContainers": containers(0),
            "overhead": quantities(),
            "resources": resources(),
            "hostNetwork": st.booleans(),
            "runtimeClassName": st.sampled_from(["a", "b"]),
            "nodeSelector": st.sampled_from([{}, {"disk": "ssd"}]),
            "tolerations": st.sampled_from(
                [None, [], [{"operator": "Exists"}], [{"key": "a", "operator": "Gt"}]]
            ),
            "terminationGracePeriodSeconds": st.sampled_from([None, -1, 0, 30]),
            "schedulerName": st.sampled_from(["", "default-scheduler", "other"]),
        },
    )


def container_statuses() -> st.SearchStrategy[list[dict[str, Any]]]:
    amounts = {"resources": resources(), "allocatedResources": quantities()}
    return st.lists(st.fixed_dictionaries({"name": st.sampled_from("abc")}, optional=amounts), max_size=2)


def conditions() -> st.SearchStrategy[list[dict[str, Any]]]:
    condition = st.fixed_dictionaries({
        "type": st.sampled_from(["Ready", "PodResizePending"]), "status": st.sampled_from(["True", "False"]),
        "reason": st.sampled_from(["", "Infeasible"]),
    })  # fmt: skip
    return st.lists(condition, max_size=2)


def pods() -> st.SearchStrategy[dict[str, Any]]:
    plain_or_odd = st.sampled_from(PLAIN_TIMES) | st.sampled_from(TIMES)
    status = st.fixed_dictionaries(
        {"phase": st.sampled_from(["Running", "Pending"])},
        optional={
            "startTime": plain_or_odd,
            "conditions": conditions(),
            "containerStatuses": container_statuses(),
            "initContainerStatuses": container_statuses(),
            "resources": resources(),
            "allocatedResources": quantities(),
        },
    )
    meta = st.fixed_dictionaries(
        {},
        optional={
            "creationTimestamp": plain_or_odd,
            "deletionTimestamp": plain_or_odd,
            "labels": st.sampled_from([{}, {"app": "a"}, {"app": "b"}]),
        },
    )
    return st.fixed_dictionaries({"metadata": meta, "spec": specs(), "status": status})


def read(manifests: list[dict[str, Any]]) -> tuple[list[str], dict[str, Any]]:
    """The faults of the pods, and the tables of those that have none."""
    objects, faults = NodeObjects(), []
    for number, manifest in enumerate(manifests):
        named = {"name": f"pod-{number}", **manifest["metadata"]}
        whole = {"apiVersion": "v1", "kind": "Pod", **manifest, "metadata": named}
        try:
            objects.add_json(msgspec.json.encode(whole), f"pod {number}")
        except InputError as error:
            faults.append(str(error))
    tables = objects.tables
    columns = [column.array[: tables.pods.size].tolist() for column in tables.pods._facts]
    names, order = tables.resources.ordered()
    return faults, {
        "columns": columns,
        "health": tables.pods.health.column.array[: tables.pods.size].tolist(),
        "classes": [whole_class(each) for each in tables.classes.classes.keys],
        "requests": tables.classes.requests.array[:, order].tolist(),
        "used": tables.nodes.used.array[:, order].tolist(),
        "resources": names,
        "terminations": [tables.pods.terminations.grace(row) for row in range(tables.pods.size)],
        "labels": tables.label_sets.sets,
    }


def whole_class(its_class: PodClass | None) -> tuple[Any, ...]:
    """Everything that a class says: comparing classes looks at their keys alone."""
    return tuple(getattr(its_class, name) for name in PodClass.__dataclass_fields__)


@contextmanager
def nothing_remembered() -> Iterator[None]:
    """Each pod is looked at as a whole, as if it was the first one, and each time and each quantity is read anew."""

    def of(known: KnownClasses, pod: Pod) -> PodClass:
        return pod_class(pod, known._profiles)

    with (
        mock.patch.object(requests, "requests_of_one_container", return_value=None),
        mock.patch.object(KnownClasses, "of", of),
        mock.patch.object(field_checks, "_is_sound", return_value=False),
        mock.patch.object(times, "instant", times._instant),
        mock.patch.object(field_checks, "instant", times._instant),
        mock.patch.object(pod_table, "whole_seconds", whole_seconds),
    ):
        yield


def whole_seconds(text: str | None, field: str, default: int) -> int:
    return int(times.parse_rfc3339(text, field)) if text is not None else default


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(pods(), min_size=1, max_size=6))
def test_what_is_remembered_of_other_pods_makes_no_difference(manifests: list[dict[str, Any]]) -> None:
    with nothing_remembered():
        expected = read(manifests)
    assert read(manifests) == expected
