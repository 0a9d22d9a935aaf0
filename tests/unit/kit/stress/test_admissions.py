"""The check of admissions finds members that got a node without one, and accuses nobody else."""

from __future__ import annotations

import pytest

from tests.kit.stress import admissions
from tests.kit.stress.history import Gap
from tests.unit.kit.forged import Forge, group, pod

QUEUED = {"kueue.x-k8s.io/queue-name": "best"}
ADMITTED = {"reprieve.dev/admitted-by": "uid-of-a-workload"}


def judged(
    labels: dict[str, str], annotations: dict[str, str], *, in_group: bool = True, leaves: bool = False
) -> list[str]:
    """A member waits, and then gets a node. `leaves`: its group leaves the queue while nobody watches groups."""
    forge = Forge()
    hero = group("hero", 100)
    if in_group:
        hero = forge.tell(hero, "ADDED", labels=labels)
    forge.tell(pod("a", node=None, group="hero"), "ADDED")
    bound = pod("a", group="hero")
    bound["metadata"]["annotations"] = annotations
    forge.tell(bound)
    history = forge.history
    if leaves:
        forge.tell(hero, labels={})
        history.gaps.append(Gap("PodGroup", 2, 4))
    forge.done()
    return [text for check in admissions.CHECKS for text in check(history)]


def test_a_member_of_a_queued_group_gets_a_node_without_quota() -> None:
    assert judged(QUEUED, {}) == ["pod d/a got a node at version 3, and no Workload had admitted it"]


@pytest.mark.parametrize(
    ("labels", "annotations", "in_group"),
    [(QUEUED, ADMITTED, True), ({}, {}, True), (QUEUED, {}, False)],
    ids=["admitted", "in no queue", "no group"],
)
def test_others_may_get_nodes(labels: dict[str, str], annotations: dict[str, str], *, in_group: bool) -> None:
    assert judged(labels, annotations, in_group=in_group) == []


def test_a_group_that_changed_while_nobody_watched_proves_nothing() -> None:
    assert judged(QUEUED, {}, leaves=True) == []
