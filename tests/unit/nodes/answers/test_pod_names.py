"""Names of pods are found as if each pod was looked at, whatever was kept from questions before."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.answers.picture import NodesPicture
from nodes.answers.pod_names import FoundPods, PodNames
from nodes.state.columns.paged import SIZE
from nodes.state.tables import Tables
from tests.kit.examples import examples
from tests.kit.objects import node, pod

TEXTS = ("a", "app-1", "/", "alfa/", "alfa/app", "7", "none", "\n", "x\nalfa")
SPACES = ("alfa", "bravo", "app-1")


def one_by_one(tables: Tables, text: str, spaces: frozenset[str]) -> list[tuple[str, str]]:
    snapshot = tables.snapshot()
    rows = [row for row in range(len(snapshot.pod_names)) if snapshot.pod_live[row]]
    rows.sort(key=lambda row: (snapshot.pod_node[row] >= 0, row))
    pods = [(snapshot.pod_namespaces[row], snapshot.pod_names[row]) for row in rows]
    found = [each for each in pods if each[0] in spaces and text in "/".join(each).lower()]
    return sorted(found, key=lambda each: not each[1].lower().startswith(text))


def in_order(found: FoundPods) -> list[tuple[str, str]]:
    return found.beginning + found.others


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2**32))
def test_all_are_found_in_their_order_whatever_changed_before(seed: int) -> None:
    random, tables, names = Random(seed), Tables(), PodNames()
    tables.upsert_node(node("n", cpu="1000"))
    pods = [
        pod(f"{random.choice(('app', 'App', 'x'))}-{each}", namespace=random.choice(SPACES))
        for each in range(random.choice((0, 5, SIZE + 40)))
    ]
    for each in pods:
        each.spec.node_name = random.choice(("", "n"))
        tables.upsert_pod(each)
    for _ in range(3):
        spaces = frozenset(random.sample(SPACES, random.randint(0, len(SPACES))))
        for text in TEXTS:
            expected = one_by_one(tables, text, spaces)
            found = names.find(tables.snapshot(), text, spaces.__contains__, len(pods) + 1)
            assert in_order(found) == expected
            most = random.randint(1, 5)
            found = names.find(tables.snapshot(), text, spaces.__contains__, most)
            assert in_order(found)[:most] == expected[:most]
        for gone in random.sample(pods, min(3, len(pods))):
            pods.remove(gone)
            tables.delete_pod(gone.metadata.namespace, gone.metadata.name)
        pods.append(pod(f"later-{random.random()}", namespace=random.choice(SPACES)))
        tables.upsert_pod(pods[-1])


@pytest.mark.parametrize("line_end", ["\n", "\0"])
def test_a_text_does_not_reach_from_one_name_into_the_next(line_end: str) -> None:
    tables, names = Tables(), PodNames()
    for each in ("one", f"two{line_end}three"):
        tables.upsert_pod(pod(each, namespace="alfa"))
    everybody = [f"one{line_end}alfa/two", f"two{line_end}three"]
    found = [in_order(names.find(tables.snapshot(), text, lambda _: True, 5)) for text in everybody]
    assert found == [[], [("alfa", f"two{line_end}three")]]


def test_jobs_of_pods_follow_their_pods() -> None:
    tables, names = Tables(), PodNames()
    tables.upsert_node(node("n"))
    first = pod("a", namespace="alfa", node="n", owner=("batch/v1", "Job", "train"))
    tables.upsert_pod(first)
    tables.upsert_pod(pod("b", namespace="alfa", owner=("apps/v1", "StatefulSet", "train-set")))
    assert [*names.jobs(NodesPicture.of(tables), "alfa/tr")] == [("alfa", "train")]
    tables.upsert_pod(pod("c", namespace="bravo", owner=("batch/v1", "Job", "again")))
    tables.delete_pod("alfa", "a")
    assert [*names.jobs(NodesPicture.of(tables), "a")] == [("bravo", "again")]
