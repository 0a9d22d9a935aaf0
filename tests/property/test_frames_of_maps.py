"""The map of before and the frames are the map made anew, for each reader, and frames name nothing forbidden."""

from __future__ import annotations

import asyncio
import json
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from answers.map.changing import Change
from answers.map.frame import Framing
from answers.map.whole import map_of
from answers.names import EVERYWHERE
from api.times import parse_rfc3339
from tests.kit.answers.changer import Changer
from tests.kit.answers.frames import applied
from tests.kit.answers.worlds import NAMESPACES, NOW, marks_of, world
from tests.kit.clock import ManualClock
from tests.kit.examples import examples
from tests.kit.followed import Followed, settled, with_counted_budgets
from web.readers.rights import Granted


def granted(spaces: frozenset[str], groups: frozenset[str], *, everything: bool) -> Granted:
    """Who may list nodes, pods in some namespaces and PodGroups in some."""
    pods = [("pods", each) for each in spaces]
    rights = {("nodes", EVERYWHERE), *pods, *(("podgroups", each) for each in groups)}
    if everything:
        rights |= {("pods", EVERYWHERE), ("podgroups", EVERYWHERE)}
    return Granted(frozenset(rights))  # type: ignore[arg-type]


READERS = st.builds(
    granted,
    st.frozensets(st.sampled_from(NAMESPACES)),
    st.frozensets(st.sampled_from(NAMESPACES)),
    everything=st.booleans(),
)


def aimed(objects: list[Any], random: Random) -> list[Any]:
    """The same, but most plans evict, from nodes where their members get room: victims cover a part of the claims."""
    for each in objects:
        spec = each.get("spec") or {}
        nodes = [pod["node"] for victim in spec.get("victims", ()) for pod in victim.get("pods", ())]
        if each["kind"] != "PreemptionPlan" or not nodes or random.random() < 0.2:
            continue
        each["status"]["phase"] = "Evicting"
        for placement in spec.get("placements", ()):
            placement["node"] = random.choice(nodes)
    return objects


def shown(followed: Followed, reader: Granted, key: str, resource: str) -> Any:
    picture = followed.source.picture().at(followed.source.now())
    return json.loads(json.dumps(map_of(picture, reader, None, key, resource).plain()))


@settings(max_examples=examples(300), deadline=None)
@given(
    st.integers(0, 2**32),
    st.lists(READERS, min_size=1, max_size=3),
    st.sampled_from(("rack", "kubernetes.io/hostname", "nothing")),
    st.sampled_from(("cpu", "memory", "pods", "example.com/gpu")),
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
)
def test_the_map_and_its_frames_are_the_map_made_anew(
    seed: int, readers: list[Granted], key: str, resource: str, steps: list[int]
) -> None:
    async def follow() -> None:
        objects = aimed(with_counted_budgets(world(seed).objects), Random(seed))
        followed = Followed(objects, ManualClock(wall=parse_rfc3339(NOW)))
        await followed.fill()
        changer, changes = Changer(followed, Random(seed)), followed.source.changes()
        maps = {at: shown(followed, each, key, resource) for at, each in enumerate(readers)}
        for count in steps:
            for _ in range(count):
                changer.change()
            change = changes()
            assert change is not None
            await settled()
            for at, reader in enumerate(readers):
                now = shown(followed, reader, key, resource)
                assert_agrees(change, reader, maps[at], now)
                maps[at] = now
        change = changes()
        assert change is not None
        assert change.is_empty

    def assert_agrees(change: Change, reader: Granted, before: Any, now: Any) -> None:
        frame = Framing(change, key, resource).frame(reader)
        if frame is None:
            assert (resource in before["resources"]) != (resource in now["resources"])
            return
        text = json.dumps(frame)
        assert applied(before, json.loads(text)) == now
        again = applied(now, json.loads(text))
        assert again == now, "a frame may come after a map that has it already"
        hidden = [each for each in NAMESPACES if not reader.lists("pods", each)]
        assert not [mark for mark in marks_of(hidden) if mark in text]

    asyncio.run(follow())
