"""Whatever happens in whatever order, the tables hold what a fresh load of the survivors would."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from nodes.state.snapshot import TERMINATING
from nodes.state.tables import Tables
from tests.kit.contents import contents, live_rows
from tests.kit.objects import budget, group, node, pod, priority_class

NAMESPACES = st.sampled_from(["blue", "red"])
NAMES = st.sampled_from(["a", "b", "c"])
NODES = st.sampled_from(["", "n1", "n2", "n3"])
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

Key = tuple[str, str, str]
"""Kind, namespace, name."""


class TablesMachine(RuleBasedStateMachine):
    """One API server's objects, and the tables that hear of their changes, some of them twice or late."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = Tables()
        self.objects: dict[Key, Any] = {}
        self.history: list[tuple[str, Any]] = []
        self.clock = 0
        self.uids = 0

    # ---- what may happen to an object

    def put(self, kind: str, make: Callable[..., Any], namespace: str, name: str, **fields: Any) -> None:
        """Create or update; the UID stays until a deletion."""
        before = self.objects.get((kind, namespace, name))
        self.clock += 1
        if before is None:
            self.uids += 1
        uid = before.metadata.uid if before is not None else f"uid-{self.uids}"
        in_namespace = {"namespace": namespace} if namespace else {}
        item = make(name, uid=uid, version=self.clock, **in_namespace, **fields)
        self.objects[kind, namespace, name] = item
        self.history.append((kind, item))
        self.deliver(kind, item)

    def deliver(self, kind: str, item: Any, tables: Tables | None = None) -> None:
        """The event of this state."""
        upsert: Callable[[Any], Any] = getattr(tables or self.tables, f"upsert_{kind}")
        # What a table keeps must not change when the sender's object does.
        upsert(msgspec.json.decode(msgspec.json.encode(item), type=type(item)))

    @rule(
        namespace=NAMESPACES,
        name=NAMES,
        on=NODES,
        requests=REQUESTS,
        labels=LABELS,
        group=st.sampled_from([None, "g", "h"]),
        priority=st.sampled_from([None, 0, 5]),
        phase=st.sampled_from(["Pending", "Running", "Running", "Succeeded"]),
        deleting=st.booleans(),
    )
    def put_pod(self, namespace: str, name: str, on: str, **fields: Any) -> None:
        self.put("pod", pod, namespace, name, node=on, **fields)

    @rule(
        name=st.sampled_from(["n1", "n2"]), cpu=st.sampled_from(["4", "8"]), zone=st.sampled_from(["a", "b"])
    )
    def put_node(self, name: str, cpu: str, zone: str) -> None:
        self.put("node", node, "", name, cpu=cpu, labels={"zone": zone})

    @rule(namespace=NAMESPACES, name=st.sampled_from(["g", "h"]), minimum=st.integers(1, 2))
    def put_group(self, namespace: str, name: str, minimum: int) -> None:
        self.put("group", group, namespace, name, minimum=minimum)

    @rule(namespace=NAMESPACES, name=NAMES, selector=SELECTORS, allowed=st.integers(0, 1))
    def put_budget(self, namespace: str, name: str, selector: Any, allowed: int) -> None:
        self.put("budget", budget, namespace, name, selector=selector, allowed=allowed)

    @rule(name=NAMES, value=st.integers(0, 2))
    def put_priority_class(self, name: str, value: int) -> None:
        self.put("priority_class", priority_class, "", name, value=value)

    @precondition(lambda self: self.objects)
    @rule(data=st.data(), with_uid=st.booleans())
    def delete(self, data: st.DataObject, with_uid: bool) -> None:
        key = data.draw(st.sampled_from(sorted(self.objects)))
        item = self.objects.pop(key)
        if key[0] != "pod":
            # Only of pods it is remembered that they have gone: others use no room.
            self.history = [
                (kind, old) for kind, old in self.history if old.metadata.uid != item.metadata.uid
            ]
        self.tell_deletion(key, item.metadata.uid if with_uid else None)

    def tell_deletion(self, key: Key, uid: str | None) -> None:
        kind, namespace, name = key
        delete: Callable[..., Any] = getattr(self.tables, f"delete_{kind}")
        delete(*([namespace] if namespace else []), name, uid)

    # ---- what may go wrong on the way

    @precondition(lambda self: self.history)
    @rule(data=st.data())
    def repeat_an_old_event(self, data: st.DataObject) -> None:
        self.deliver(*data.draw(st.sampled_from(self.history)))

    @precondition(lambda self: self.objects)
    @rule(data=st.data())
    def delete_a_former_object(self, data: st.DataObject) -> None:
        self.tell_deletion(data.draw(st.sampled_from(sorted(self.objects))), "uid-of-a-former-one")

    @rule(namespace=NAMESPACES, name=NAMES)
    def fail_to_read_a_pod(self, namespace: str, name: str) -> None:
        self.clock += 1
        broken = pod(name, namespace=namespace, node="n9", requests={"cpu": "x"}, version=self.clock)
        try:
            self.tables.upsert_pod(broken)
        except ValueError:
            return
        raise AssertionError("a quantity that is none was taken")

    # ---- what must hold

    @invariant()
    def equals_a_fresh_load(self) -> None:
        fresh = Tables()
        for (kind, _, _), item in self.objects.items():
            self.deliver(kind, item, fresh)
        assert contents(self.tables.snapshot()) == contents(fresh.snapshot())

    @invariant()
    def room_is_conserved(self) -> None:
        snapshot = self.tables.snapshot()
        used: dict[int, int] = defaultdict(int)
        leaving: dict[int, int] = defaultdict(int)
        for row in live_rows(snapshot):
            asked = int(snapshot.class_requests[snapshot.pod_class[row]].sum())
            used[int(snapshot.pod_node[row])] += asked
            if snapshot.pod_flags[row] & TERMINATING:
                leaving[int(snapshot.pod_node[row])] += asked
        for row in range(len(snapshot.node_names)):
            assert snapshot.used[row].sum() == used[row]
            assert snapshot.leaving[row].sum() == leaving[row]

    @invariant()
    def members_and_pods_of_nodes_are_known(self) -> None:
        tables = self.tables
        for row in live_rows(tables.snapshot()):
            view = tables.view(row)
            assert tables.pod(view.uid) == tables.pod_by_name(view.namespace, view.name) == row
            if view.group is not None:
                assert row in tables.members(view.group)

    def teardown(self) -> None:
        for key in list(self.objects):
            self.tell_deletion(key, None)
        tables = self.tables
        assert not tables.snapshot().used.any()
        assert not tables.snapshot().leaving.any()
        registers = (
            tables.nodes.names, tables.classes.classes, tables.groups.keys, tables.label_sets.keys,
            tables.pods, tables.nodes, tables.groups, tables.budgets,
        )  # fmt: skip
        assert [len(register) for register in registers] == [0] * len(registers)
        assert not tables.pods.status
        assert not any(tables.groups.members)


TestTables = TablesMachine.TestCase
TestTables.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
