"""Why nodes refuse a member: counting over many nodes at once gives what looking at each node gives."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from nodes.filters.node_resources import NodeResourcesFit
from nodes.search.cluster import Cluster, MisplacedError, lay_out
from nodes.search.preemptors.preemptor import group_preemptor
from nodes.search.room import Room
from tests.kit.examples import examples
from tests.kit.plans.clusters import clusters
from tests.kit.plans.engine import snapshot_of


def of_one_node(cluster: Cluster, room: Room, pod: int, node: int) -> list[str]:
    """The reasons of one node, without arithmetic on arrays."""
    static = cluster.refusals(pod)[node]
    if static is not None:
        return [static]
    tokens = cluster.tokens
    early: list[str] = []
    late: list[str] = []
    for number, token in enumerate(tokens.tokens):
        is_forbidden = tokens.forbids[pod][number] and room.held[node][number]
        if is_forbidden or (tokens.brings[pod][number] and room.barred[node][number]):
            (early if tokens.before_resources[number] else late).append(token.reason)
    asked = zip(cluster.resources, cluster.request(pod).tolist(), room.free[node].tolist(), strict=True)
    short = [NodeResourcesFit.reason(name) for name, request, free in asked if request and free < request]
    return early[:1] or short or late[:1]


@settings(max_examples=examples(300), deadline=None)
@given(clusters(), st.data())
def test_counted_as_node_by_node(objects: list[dict[str, Any]], data: st.DataObject) -> None:
    snapshot = snapshot_of(objects)
    preemptor = group_preemptor(snapshot, "d", "hero")
    try:
        cluster = Cluster(snapshot, preemptor, lay_out(snapshot, preemptor))
    except MisplacedError:
        reject()  # a bound member is on a node without the label
    assume(preemptor.unbound and len(cluster.layout.nodes))
    room = Room(cluster)
    nodes = cluster.layout.nodes.tolist()
    members = st.sampled_from(preemptor.unbound)
    for member, node in data.draw(st.lists(st.tuples(members, st.sampled_from(nodes)), max_size=4)):
        room.place(member, node)
    pod, some = data.draw(members), data.draw(st.lists(st.sampled_from(nodes), unique=True))
    expected = Counter(reason for node in some for reason in of_one_node(cluster, room, pod, node))
    assert room.refusals(pod, np.array(some, np.intp)) == expected
