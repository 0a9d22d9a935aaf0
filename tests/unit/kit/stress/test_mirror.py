"""A mirror that differs from a list is found, whatever the difference is."""

from __future__ import annotations

import pytest

from tests.kit.stress.mirror import Held, differences, identities

LISTED: Held = {("a", "one"): ("uid-1", "5"), ("", "two"): ("uid-2", "7")}


def test_a_mirror_that_is_what_the_list_says() -> None:
    assert differences("reprieve", "pods", dict(LISTED), LISTED) == []
    assert differences("reprieve", "pods", {}, {}) == []


@pytest.mark.parametrize(
    ("held", "wrong"),
    [
        ({("", "two"): ("uid-2", "7")}, "reprieve does not know pods a/one"),
        ({**LISTED, ("", "old"): ("uid-3", "2")}, "reprieve knows pods old, which is gone"),
        ({**LISTED, ("a", "one"): ("uid-9", "5")}, "reprieve knows pods a/one of another UID"),
        ({**LISTED, ("", "two"): ("uid-2", "6")}, "reprieve knows pods two in another state than it is"),
        ({**LISTED, ("", "two"): ("uid-2", "8")}, "reprieve knows pods two in another state than it is"),
    ],
    ids=["lacks one", "keeps one", "another one of the name", "older", "newer"],
)
def test_a_mirror_that_differs(held: Held, wrong: str) -> None:
    assert differences("reprieve", "pods", held, LISTED) == [wrong]


def test_a_list_is_known_by_its_metadata() -> None:
    meta = {"name": "one", "namespace": "a", "uid": "uid-1", "resourceVersion": "5"}
    cluster_scoped = {"name": "two", "uid": "uid-2", "resourceVersion": "7"}
    assert identities([{"metadata": meta}, {"metadata": cluster_scoped}]) == LISTED
