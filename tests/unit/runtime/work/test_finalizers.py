"""Who keeps a finalizer, and what is in use."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from api.meta import ObjectMeta
from kube.client import ApiClient
from kube.errors import ApiError
from kube.sender import Sender
from runtime.work.finalizers import FinalizerKeeper, Guarded, Users
from tests.kit.apiserver import Api
from tests.kit.waiting import beside, until

THINGS = "/apis/example.com/v1/things"
OURS = "example.com/ours"
GONE = "2026-01-01T00:00:00Z"


class Things:
    """Objects, and the keeper of their finalizer."""

    def __init__(self) -> None:
        self.api = Api()
        self.api.of(THINGS)
        self.used: set[str] = set()
        self.given: set[str] = set()
        """Those to which somebody else gives the finalizer."""
        self.looked: list[str] = []
        sender = Sender(cast(ApiClient, self.api), attempts=1)
        self.keeper: FinalizerKeeper[str] = FinalizerKeeper(self.look, sender, finalizer=OURS)

    def put(self, name: str, *finalizers: str, deleted: bool = False) -> None:
        meta: dict[str, Any] = {"name": name, "uid": f"uid-{name}"}
        if finalizers:
            meta["finalizers"] = list(finalizers)
        self.api.put(THINGS, {"metadata": meta | ({"deletionTimestamp": GONE} if deleted else {})})

    def look(self, name: str) -> Guarded | None:
        self.looked.append(name)
        body = self.api.of(THINGS).get(name)
        if body is None:
            return None
        meta = msgspec.convert(body["metadata"], ObjectMeta)
        guarded = Guarded(f"{THINGS}/{name}", meta, name in self.used)
        return replace(guarded, adds=name not in self.given)

    def finalizers(self, name: str) -> list[str] | None:
        """None if the object is gone."""
        body = self.api.of(THINGS).get(name)
        return None if body is None else body["metadata"].get("finalizers") or []

    @asynccontextmanager
    async def kept(self, *names: str) -> AsyncIterator[None]:
        async with beside(self.keeper.run()):
            for name in names:
                self.keeper.changed(name)
            yield


async def test_it_is_added_and_removed_as_the_rules_say() -> None:
    things = Things()
    for name, finalizers, deleted in (
        ("new", [], False),
        ("old", [OURS], False),
        ("foreign", [], False),
        ("used", [OURS], True),
        ("unused", [OURS], True),
        ("others", ["example.com/own", OURS], True),
        ("late", ["example.com/own"], True),
    ):
        things.put(name, *finalizers, deleted=deleted)
    things.used, things.given = {"used"}, {"foreign"}
    names = [*things.api.of(THINGS), "gone"]
    async with things.kept(*names):
        await until(lambda: set(things.looked) == set(names) and things.finalizers("unused") is None)
        await until(lambda: things.finalizers("others") == ["example.com/own"])
        await until(lambda: things.finalizers("new") == [OURS])
        assert [things.finalizers(name) for name in ("old", "foreign", "used", "late")] == [
            [OURS],
            [],
            [OURS],
            ["example.com/own"],
        ]
        things.used.clear()
        things.keeper.changed("used")
        await until(lambda: things.finalizers("used") is None)
    assert len(things.api.written) == 4


async def test_what_is_refused_is_tried_again() -> None:
    things = Things()
    things.put("a")
    refusals = iter([ApiError(403, "Forbidden", "x"), ApiError(422, "Invalid", "x")])
    things.api.refuse = lambda _method, _path: next(refusals, None)
    async with things.kept("a"):
        await until(lambda: things.finalizers("a") == [OURS])
    assert next(refusals, None) is None


async def test_a_fault_of_ours_stops_nobody_else() -> None:
    things = Things()
    things.put("b")
    look = things.look

    def failing(name: str) -> Guarded | None:
        if name == "a":
            raise ValueError("broken")
        return look(name)

    things.keeper = FinalizerKeeper(failing, Sender(cast(ApiClient, things.api)), finalizer=OURS)
    async with things.kept("a", "b"):
        await until(lambda: things.finalizers("b") == [OURS])


NAMES = st.sets(st.sampled_from("xyz"))


@given(st.lists(st.tuples(st.sampled_from("abc"), NAMES)))
def test_users_are_counted(events: list[tuple[str, set[str]]]) -> None:
    users, named = Users(), dict[str, set[str]]()
    for user, names in events:
        before = set().union(*named.values())
        named[user] = names
        after = set().union(*named.values())
        assert users.set(user, names) == sorted(before - after)
        assert {name for name in "xyz" if users.has(name)} == after
