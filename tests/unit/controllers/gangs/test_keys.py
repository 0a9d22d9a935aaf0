"""Keys of preemptors: a pod and a PodGroup never have the same one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.plans import Preemptor
from controllers.gangs.keys import LonePod, key_of, key_of_pod, lone_pod, spoken
from controllers.gangs.lifecycle.stored_plan import owner_of
from tests.kit.objects import pod

NAMES = st.from_regex(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?", fullmatch=True)
"""Names of PodGroups and pods are DNS subdomains."""


@given(NAMES, NAMES, NAMES)
def test_a_key_tells_which_pod_it_is_about(namespace: str, name: str, uid: str) -> None:
    alone = LonePod(namespace, name, uid)
    assert lone_pod(alone.key) == alone
    assert lone_pod((namespace, name)) is None
    assert key_of_pod(pod(name, namespace=namespace, uid=uid)) == alone.key


@pytest.mark.parametrize(
    ("kind", "owner", "words"),
    [
        ("PodGroup", ("PodGroup", "team", "a"), "PodGroup team/a"),
        ("Pod", ("Pod", "team", "pod/a/uid"), "Pod team/a"),
    ],
)
def test_the_key_of_a_plans_preemptor(kind: str, owner: tuple[str, str, str], words: str) -> None:
    key = key_of(Preemptor(kind, "v1", "team", "a", "uid", 1))  # type: ignore[arg-type]  # one of both
    assert owner_of(key) == owner
    assert spoken(key) == words
