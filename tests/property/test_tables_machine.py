"""Whatever happens in whatever order, the tables hold what a fresh load of the survivors would."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from api.groups import POD_GROUP_LABEL
from api.meta import ObjectMeta
from api.times import parse_rfc3339
from nodes.state.columns.flags import is_leaving
from nodes.state.pods.pods import ENDED
from nodes.state.tables import Tables
from runtime.mirror.views import View
from runtime.mirror.watched_tables import WatchedTables
from tests.kit.contents import contents, live_rows
from tests.kit.examples import examples
from tests.kit.objects import budget, group, node, pod, priority_class
from tests.kit.views import unconnected

NAMESPACES = st.sampled_from(["blue", "red"])
NAMES = st.sampled_from(["a", "b", "c"])
NODES = st.sampled_from(["", "n1", "n2", "n3"])
COUNTED = ("n1", "n2", "n3", "n4")
"""Nodes whose counters are watched: `n3` is only mentioned by pods, and nothing mentions `n4`."""
REQUESTS = st.sampled_from(
    [{"cpu": "1"}, {"cpu": "500m", "memory": "1Gi"}, {"x.io/gpu": "2"}, {"y.io/z": "1"}]
)
LABELS = st.sampled_from([{}, {"app": "web"}, {"app": "web", "tier": "back"}, {"app": "db"}])
SELECTORS = st.sampled_from(
    [
        None,
        {},
        {"matchLabels": {"app": "web"}},
        {"matchLabels": {"app": "web", "tier": "back"}},
        {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]},
        {"matchLabels": {"app": "no value!"}},
    ]
)

OURS = st.booleans()
TIMES = st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"])
HAS_RUN = {"type": "PodGroupInitiallyScheduled", "status": "True", "reason": "Scheduled"}

Key = tuple[str, str, str]
"""Kind, namespace, name."""


def copied(item: Any) -> Any:
    """What a table keeps must not change when the sender's object does."""
    return msgspec.json.decode(msgspec.json.encode(item), type=type(item))


class TablesMachine(RuleBasedStateMachine):
    """One API server's objects, and tables that hear of them from views: some events come twice, or late."""

    def __init__(self) -> None:
        super().__init__()
        self.watched = WatchedTables(unconnected())
        self.tables = self.watched.tables
        self.views: dict[str, View[Any]] = {
            "node": self.watched.nodes,
            "pod": self.watched.pods,
            "budget": self.watched.budgets,
            "priority_class": self.watched.priority_classes,
            "group": self.watched.groups,
        }
        self.objects: dict[Key, Any] = {}
        self.history: list[tuple[str, Any]] = []
        self.clock = 0
        self.uids = 0
        self.overdue = 0.0
        self.counted = {name: (self.facts(name), self.counters(name)) for name in COUNTED}

    # ---- what may happen to an object

    def put(
        self, kind: str, make: Callable[..., Any], namespace: str, name: str, ours: bool, **fields: Any
    ) -> None:
        """Create or update; the UID stays until a deletion. `ours`: we wrote it, and see the answer first."""
        before = self.objects.get((kind, namespace, name))
        self.clock += 1
        if before is None:
            self.uids += 1
        uid = before.metadata.uid if before is not None else f"uid-{self.uids}"
        in_namespace = {"namespace": namespace} if namespace else {}
        item = make(name, uid=uid, version=self.clock, **in_namespace, **fields)
        self.objects[kind, namespace, name] = item
        self.history.append((kind, item))
        if ours:
            assert self.views[kind].apply(copied(item))
        else:
            self.deliver(kind, item)

    def deliver(self, kind: str, item: Any) -> None:
        """The event of this state."""
        self.views[kind].upsert(copied(item), listed=False)
        self.seen(kind, item.metadata.resource_version)

    def seen(self, kind: str, resource_version: str) -> None:
        """The watch has come so far."""
        reflector = self.views[kind]._reflector
        reflector.resource_version = str(max(int(reflector.resource_version or 0), int(resource_version)))

    @rule(
        namespace=NAMESPACES,
        name=NAMES,
        on=NODES,
        requests=REQUESTS,
        labels=LABELS,
        group=st.sampled_from([None, "g", "h"]),
        priority=st.sampled_from([None, 0, 5]),
        schedulerName=st.sampled_from(["", "default-scheduler", "other"]),
        phase=st.sampled_from(["Pending", "Running", "Running", "Succeeded", "Succeeded", "Failed"]),
        ready=st.sampled_from([None, False, True]),
        deleting=st.booleans(),
        gated=st.booleans(),
        nominated=NODES,
        controller=st.sampled_from([None, "x", "y"]),
        created=TIMES,
        ours=OURS,
    )
    def put_pod(self, namespace: str, name: str, on: str, ours: bool, **fields: Any) -> None:
        self.put("pod", pod, namespace, name, ours, node=on, **fields)

    @rule(
        name=st.sampled_from(["n1", "n2"]),
        cpu=st.sampled_from(["4", "8"]),
        zone=st.sampled_from(["a", "b"]),
        ours=OURS,
    )
    def put_node(self, name: str, cpu: str, zone: str, ours: bool) -> None:
        self.put("node", node, "", name, ours, cpu=cpu, labels={"zone": zone})

    @rule(
        namespace=NAMESPACES,
        name=st.sampled_from(["g", "h"]),
        minimum=st.integers(1, 2),
        created=TIMES,
        has_run=st.booleans(),
        ours=OURS,
    )
    def put_group(self, namespace: str, name: str, has_run: bool, ours: bool, **fields: Any) -> None:
        status = {"conditions": [HAS_RUN]} if has_run else None
        self.put("group", group, namespace, name, ours, status=status, **fields)

    @rule(
        namespace=NAMESPACES,
        name=NAMES,
        selector=SELECTORS,
        allowed=st.integers(0, 1),
        policy=st.sampled_from([None, "IfHealthyBudget", "AlwaysAllow"]),
        desired=st.integers(0, 1),
        ours=OURS,
    )
    def put_budget(self, namespace: str, name: str, ours: bool, **fields: Any) -> None:
        self.put("budget", budget, namespace, name, ours, **fields)

    @rule(name=NAMES, value=st.integers(0, 2), ours=OURS)
    def put_priority_class(self, name: str, value: int, ours: bool) -> None:
        self.put("priority_class", priority_class, "", name, ours, value=value)

    @precondition(lambda self: self.objects)
    @rule(data=st.data(), with_uid=st.booleans())
    def delete(self, data: st.DataObject, with_uid: bool) -> None:
        key = data.draw(st.sampled_from(sorted(self.objects)))
        item = self.objects.pop(key)
        self.clock += 1
        self.tell_deletion(key, item.metadata.uid if with_uid else "")

    def tell_deletion(self, key: Key, uid: str) -> None:
        kind, namespace, name = key
        self.views[kind].delete(ObjectMeta(name, namespace, uid, str(self.clock)))
        self.seen(kind, str(self.clock))

    @rule(overdue=st.sampled_from(["2026-01-01T00:59:59Z", "2026-01-01T01:00:00Z"]))
    def tell_time(self, overdue: str) -> None:
        """Wall clocks are corrected: it may go back."""
        self.overdue = parse_rfc3339(overdue)
        version = self.tables.version
        assert bool(self.tables.tell_time(self.overdue)) == (self.tables.version > version)
        assert self.tables.tell_time(self.overdue) == []

    # ---- what may go wrong on the way

    @precondition(lambda self: self.history)
    @rule(data=st.data())
    def repeat_an_old_event(self, data: st.DataObject) -> None:
        self.deliver(*data.draw(st.sampled_from(self.history)))

    @precondition(lambda self: self.history)
    @rule(data=st.data())
    def answer_an_old_write_late(self, data: st.DataObject) -> None:
        kind, item = data.draw(st.sampled_from(self.history))
        assert not self.views[kind].apply(copied(item))

    @rule(kind=st.sampled_from(["node", "pod", "budget", "priority_class", "group"]), lost=st.booleans())
    def list_anew(self, kind: str, lost: bool) -> None:
        """`lost`: meanwhile an object went, and no event says so."""
        if lost and (keys := [key for key in self.objects if key[0] == kind]):
            del self.objects[keys[0]]
            self.clock += 1
        listed: set[tuple[str, str]] = set()
        for (of, namespace, name), item in self.objects.items():
            if of == kind:
                self.views[kind].upsert(copied(item), listed=True)
                listed.add((namespace, name))
        self.views[kind].replaced(listed, str(self.clock))
        self.seen(kind, str(self.clock))

    @precondition(lambda self: self.objects)
    @rule(data=st.data())
    def delete_a_former_object(self, data: st.DataObject) -> None:
        kind, namespace, name = data.draw(st.sampled_from(sorted(self.objects)))
        self.views[kind].delete(ObjectMeta(name, namespace, "uid-of-a-former-one"))

    @rule(namespace=NAMESPACES, name=NAMES)
    def fail_to_read_a_pod(self, namespace: str, name: str) -> None:
        """What is known of it stays as it is."""
        self.clock += 1
        known = self.objects.get(("pod", namespace, name))
        uid = known.metadata.uid if known is not None else "uid-unreadable"
        broken = pod(name, namespace=namespace, uid=uid, node="n9", requests={"cpu": "x"}, version=self.clock)
        self.views["pod"].upsert(broken, listed=False)
        self.seen("pod", str(self.clock))

    # ---- what must hold

    @invariant()
    def equals_a_fresh_load(self) -> None:
        fresh = Tables()
        fresh.tell_time(self.overdue)
        for (kind, _, _), item in self.objects.items():
            getattr(fresh, f"upsert_{kind}")(copied(item))
        assert contents(self.tables.snapshot()) == contents(fresh.snapshot())

    @invariant()
    def room_is_conserved(self) -> None:
        snapshot = self.tables.snapshot()
        used: dict[int, int] = defaultdict(int)
        leaving: dict[int, int] = defaultdict(int)
        for row in live_rows(snapshot):
            asked = int(snapshot.class_requests[snapshot.pod_class[row]].sum())
            used[int(snapshot.pod_node[row])] += asked
            if is_leaving(snapshot.pod_flags[row]):
                leaving[int(snapshot.pod_node[row])] += asked
        for row in range(len(snapshot.node_names)):
            assert snapshot.used[row].sum() == used[row]
            assert snapshot.leaving[row].sum() == leaving[row]

    @invariant()
    def members_and_pods_of_nodes_are_known(self) -> None:
        tables = self.tables
        names: set[tuple[str, str]] = set()
        for row in live_rows(tables.snapshot()):
            view = tables.view(row)
            assert tables.pod(view.uid) == row
            assert (view.namespace, view.name) not in names, "one row for each name"
            names.add((view.namespace, view.name))
            if view.group is not None:
                assert row in tables.members(view.group)

    @invariant()
    def counters_grow_with_what_they_count(self) -> None:
        """Never back, and never without a reason while the node exists."""
        for name, (facts, before) in self.counted.items():
            now, after = self.facts(name), self.counters(name)
            self.counted[name] = (now, after)
            for was, is_now, low, high in zip(facts, now, before, after, strict=True):
                assert high > low if was != is_now else high >= low
                assert high == low or was != is_now or not (facts[0] and now[0])
            assert {self.tables.view(row).uid for row in self.tables.nominated(name)} == {
                uid for uid, _, _ in now[2]
            }

    def facts(self, name: str) -> tuple[object, set[Any], set[Any]]:
        """What each of the three counters counts: the node, the pods there, the pods nominated there."""
        found = self.objects.get(("node", "", name))
        pods = [
            item
            for (kind, _, _), item in self.objects.items()
            if kind == "pod" and item.status.phase not in ENDED
        ]
        there = {
            (item.metadata.uid, item.metadata.deletion_timestamp, str(item.spec.containers))
            for item in pods
            if item.spec.node_name == name
        }
        nominated = {
            (item.metadata.uid, item.spec.priority or 0, str(item.spec.containers))
            for item in pods
            if item.status.nominated_node_name == name
            if not item.spec.node_name and not item.metadata.deletion_timestamp
        }
        return found and (found.metadata.labels, found.status.allocatable), there, nominated

    def counters(self, name: str) -> tuple[int, int, int]:
        tables = self.tables
        return tables.node_changes(name), tables.node_pod_changes(name), tables.nomination_changes(name)

    @invariant()
    def members_that_succeeded_are_counted(self) -> None:
        for namespace in ("blue", "red"):
            for name in ("g", "h"):
                its_group = self.objects.get(("group", namespace, name))
                succeeded = [
                    each.metadata
                    for (kind, its_namespace, _), each in self.objects.items()
                    if kind == "pod" and its_namespace == namespace and each.status.phase == "Succeeded"
                    if (each.metadata.labels or {}).get(POD_GROUP_LABEL) == name
                ]
                assert self.tables.succeeded((namespace, name)) == {meta.uid for meta in succeeded}
                since = its_group.metadata.creation_timestamp if its_group is not None else "later"
                counted = [meta for meta in succeeded if (meta.creation_timestamp or "") >= since]
                assert self.tables.count_succeeded((namespace, name)) == len(counted)

    @invariant()
    def the_lowest_running_priority_of_a_group_is_known(self) -> None:
        for namespace in ("blue", "red"):
            for name in ("g", "h"):
                running = [
                    each.spec.priority or 0
                    for (kind, its_namespace, _), each in self.objects.items()
                    if kind == "pod" and its_namespace == namespace
                    if (each.metadata.labels or {}).get(POD_GROUP_LABEL) == name
                    if each.spec.node_name and each.metadata.deletion_timestamp is None
                    if each.status.phase not in ENDED
                ]
                lowest = min(running, default=None)
                assert self.tables.groups.running_priority((namespace, name)) == lowest

    @invariant()
    def members_are_counted(self) -> None:
        for namespace in ("blue", "red"):
            for name in ("g", "h"):
                there = [
                    each.spec
                    for (kind, its_namespace, _), each in self.objects.items()
                    if kind == "pod" and its_namespace == namespace
                    if (each.metadata.labels or {}).get(POD_GROUP_LABEL) == name
                    if each.metadata.deletion_timestamp is None and each.status.phase not in ENDED
                ]
                unbound = [spec for spec in there if not spec.node_name]
                gated = sum(bool(spec.scheduling_gates) for spec in unbound)
                counts = self.tables.member_counts((namespace, name))
                assert counts == (len(unbound) - gated, len(there) - len(unbound), gated)

    @invariant()
    def controlled_pods_are_those_whose_owner_says_so(self) -> None:
        for name in ("x", "y"):
            there = {
                each.metadata.uid
                for (kind, *_), each in self.objects.items()
                if kind == "pod" and each.status.phase not in ENDED
                if any(owner.name == name for owner in each.metadata.owner_references or ())
            }
            rows = self.tables.controlled(f"uid-{name}")
            assert {self.tables.view(row).uid for row in rows} == there
            for row in rows:
                controller = self.tables.view(row).controller
                assert controller is not None
                assert controller.name == name

    def teardown(self) -> None:
        for key in list(self.objects):
            self.tell_deletion(key, "")
        tables = self.tables
        assert not tables.snapshot().used.any()
        assert not tables.snapshot().leaving.any()
        registers = (
            tables.nodes.names, tables.classes.classes, tables.groups.keys, tables.label_sets.keys,
            tables.pods, tables.succeeded_members, tables.pods.schedulers, tables.pods.controllers,
            tables.nodes, tables.groups, tables.budgets, tables.pods.terminations,
        )  # fmt: skip
        assert [len(register) for register in registers] == [0] * len(registers)
        assert not tables.pods.status
        assert not tables.pods.nominations.by_node
        assert not tables.pods.nominations.by_pod
        assert not any(tables.groups.members)


TestTables = TablesMachine.TestCase
TestTables.settings = settings(
    max_examples=examples(60), stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
