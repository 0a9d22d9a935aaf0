"""Nothing of a namespace reaches a reader who may list nothing there, whatever the cluster is."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from typing import get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from answers.errors import InputError, UnreadError
from answers.names import EVERYWHERE, Listed
from answers.reading.details import DetailedObjects
from answers.reading.quota_objects import read_time
from answers.waiting import waiting
from answers.why import why
from tests.kit.answers.worlds import NAMESPACES, NOW, World, marks_of, world
from tests.kit.examples import examples

EVERYTHING: tuple[Listed, ...] = get_args(Listed)


@dataclass(frozen=True)
class Tenant:
    """A reader of some namespaces, who may list some kinds everywhere besides."""

    namespaces: Collection[str]
    everywhere: frozenset[Listed] = frozenset()
    without: frozenset[Listed] = field(default=frozenset())
    """Kinds that the reader may not list even there."""

    def lists(self, what: Listed, namespace: str = EVERYWHERE) -> bool:
        """See `Names`."""
        return what in self.everywhere or (namespace in self.namespaces and what not in self.without)


def read(made: World) -> DetailedObjects:
    objects = DetailedObjects(read_time(NOW, "now"))
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": made.objects})
    objects.add_file(text.encode(), "world")
    return objects


def said(made: World, tenant: Tenant) -> str:
    """All that the reader may ask for, as it is sent."""
    objects = read(made)
    picture, details = objects.picture(), cache(objects.details)
    found = [json.dumps(waiting(picture, details, tenant).plain())]
    for kind, namespace, name in made.questions():
        if namespace not in tenant.namespaces:
            continue
        try:
            answer = why(picture, details(namespace), kind, name, tenant).plain()  # type: ignore[arg-type]
            found.append(json.dumps(answer))
        except (InputError, UnreadError) as error:
            found.append(str(error))
    return "\n".join(found)


SOME: st.SearchStrategy[frozenset[Listed]] = st.frozensets(
    st.sampled_from(("nodes", "podgroups", "preemptionplans", "dispatchplans", "jobs"))
)
"""Kinds that say nothing of other namespaces to somebody who may list them everywhere, as far as these answers go."""


@settings(max_examples=examples(600), deadline=None)
@given(st.integers(0, 2**32), st.sets(st.sampled_from(NAMESPACES), max_size=2), SOME)
def test_no_mark_of_a_forbidden_namespace(seed: int, own: set[str], some: frozenset[Listed]) -> None:
    text = said(world(seed), Tenant(own, some & {"nodes"}))
    for mark in marks_of(set(NAMESPACES) - own):
        at = text.find(mark)
        assert at < 0, f"{mark}: ...{text[max(0, at - 300) : at + 100]}"
