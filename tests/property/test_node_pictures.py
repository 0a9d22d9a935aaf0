"""A picture of nodes and pods does not move. Groups that are laid over it count as if they had come as events."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from api.core import Pod, PriorityClass
from api.fates import Fate
from api.groups import PodGroup
from nodes.answers.fates import node_fates
from nodes.answers.picture import NodesPicture
from nodes.groups.registry import form_of
from nodes.state.groups.group_columns import GroupColumns
from nodes.state.snapshot import Snapshot
from nodes.state.tables import Tables
from tests.kit.examples import examples
from tests.kit.plans.clusters import clusters
from tests.kit.plans.engine import FOREIGN, delete, upsert

Object = dict[str, Any]
CLASSES = ({"metadata": {"name": "high"}, "value": 700}, {"metadata": {"name": "low"}, "value": 3})
SINCE = ("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z")


@st.composite
def groups(draw: st.DrawFn, name: str) -> Object:
    """Ours, or one of another kind; new, or in place of another one."""
    meta = {"name": name, "namespace": "d", "uid": f"new-{name}", "creationTimestamp": draw(TIMES)}
    policy: Object = (
        {"gang": {"minCount": draw(st.integers(1, 4))}} if draw(st.integers(0, 3)) else {"basic": {}}
    )
    version = draw(st.sampled_from(("", "", "", *FOREIGN)))
    if version and not version.startswith("scheduling.k8s.io"):
        spec: Object = {"minMember": draw(st.integers(0, 4))}
        return {"apiVersion": version, "kind": "PodGroup", "metadata": meta, "spec": spec}
    spec = {
        "schedulingPolicy": policy,
        "disruptionMode": draw(st.sampled_from(({"all": {}}, {"single": {}}))),
    }
    spec |= draw(st.sampled_from(({"priority": 50}, {}, *({"priorityClassName": each} for each in NAMED))))
    return {"kind": "PodGroup", "metadata": meta, "spec": spec} | ({"apiVersion": version} if version else {})


NAMED = ("high", "low", "missing")
TIMES = st.sampled_from(SINCE)


def made(item: Object) -> PodGroup:
    """The internal form of a PodGroup."""
    return form_of(msgspec.convert(item, FOREIGN.get(item.get("apiVersion", ""), PodGroup)))


def ended(name: str, group: str, created: str) -> Pod:
    """A member that Succeeded."""
    labels = {"reprieve.dev/pod-group": group}
    meta = {"name": name, "namespace": "d", "uid": name, "labels": labels, "creationTimestamp": created}
    return msgspec.convert(
        {"metadata": meta, "spec": {"containers": []}, "status": {"phase": "Succeeded"}}, Pod
    )


def controlled(pod: Object, data: st.DataObject) -> Object:
    """The pod with one of a few controllers, or with none."""
    name = data.draw(st.sampled_from(("", "one", "two")))
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": name, "controller": True}
    return {**pod, "metadata": {**pod["metadata"], "ownerReferences": [owner] if name else []}}


def tables_of(objects: list[Object], data: st.DataObject) -> Tables:
    tables = Tables()
    for each in data.draw(st.lists(st.sampled_from(CLASSES), unique_by=id)):
        tables.upsert_priority_class(msgspec.convert(each, PriorityClass))
    for item in objects:
        upsert(tables, controlled(item, data) if item["kind"] == "Pod" else item)
    for number in range(data.draw(st.integers(0, 3))):
        group = data.draw(st.sampled_from(("hero", "g0", "new")))
        tables.upsert_pod(ended(f"ended-{number}", group, data.draw(TIMES)))
    return tables


def facts(columns: GroupColumns, row: int) -> dict[str, int]:
    """What decides about the group in this row. The priority of one that is not known means nothing."""
    known = bool(columns.known[row])
    return {
        "exists": int(columns.exists[row]),
        "known": known,
        "whole": int(columns.whole[row]),
        "priority": int(columns.priority[row]) if known else 0,
        "minimum": int(columns.minimum[row]),
    }


def said(snapshot: Snapshot) -> tuple[dict[Any, Any], list[Any], dict[str, Fate]]:
    """All that is known of groups, their order, and what becomes of everybody."""
    keys, columns = snapshot.group_keys, snapshot.group_columns
    rows = [row for row, key in enumerate(keys) if key != ("", "")]
    known = {
        keys[row]: (snapshot.groups[row], snapshot.group_succeeded[row], facts(columns, row)) for row in rows
    }
    order = [keys[row] for row in sorted(rows, key=lambda row: int(columns.name_rank[row]))]
    try:
        fates = node_fates(snapshot)
    except ValueError as error:
        fates = {str(error): Fate("Nodes", "", "", "Waits", "", "")}
    return known, order, fates


@settings(max_examples=examples(200), deadline=None)
@given(clusters(), st.data())
def test_groups_that_are_laid_over_count_as_events(objects: list[Object], data: st.DataObject) -> None:
    tables = tables_of(objects, data)
    names = data.draw(st.lists(st.sampled_from(("hero", "g0", "g1", "new", "a")), unique=True))
    laid = [data.draw(groups(name)) for name in names]
    picture = NodesPicture.of(tables)
    before = said(picture.snapshot)
    over = picture.with_groups([made(each) for each in laid])
    assert said(picture.snapshot) == before
    for each in laid:
        upsert(tables, each)
    assert said(over.snapshot) == said(tables.snapshot())


@settings(max_examples=examples(200), deadline=None)
@given(clusters(), st.data())
def test_later_events_do_not_change_a_picture(objects: list[Object], data: st.DataObject) -> None:
    tables = tables_of(objects, data)
    picture = NodesPicture.of(tables)
    uids = [uid for uid in picture.snapshot.pod_uids if uid]

    def answers() -> Any:
        keys = [("d", name) for name in ("hero", "g0", "g1", "new")]
        members = [(picture.group(key), picture.members(key)) for key in keys]
        by = [picture.controlled(name) for name in ("one", "two")]
        return said(picture.snapshot), members, by, [picture.controller_of(uid) for uid in uids]

    before = answers()
    for item in data.draw(st.lists(st.sampled_from(objects), max_size=4)):
        if item["kind"] != "PodDisruptionBudget" and data.draw(st.booleans()):
            delete(tables, item)
        elif item["kind"] == "Pod":
            upsert(tables, controlled(item, data))
        elif item["kind"] == "PodGroup":
            upsert(tables, data.draw(groups(item["metadata"]["name"])))
    tables.upsert_pod(ended("late", "hero", SINCE[2]))
    tables.snapshot()
    assert answers() == before
