"""What is behind the claims of pods depends on the objects that are there, and not on the order in which they came."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from functools import partial
from random import Random
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from api.core import Pod
from api.selectors import node_selector_matches
from api.storage import PersistentVolume
from hack.fidelity.ours import STORAGE
from hack.fidelity.world import World
from hack.fidelity.worlds import random_world
from nodes.filters.pod_volumes import ClassStorage, PodVolumes, claims_of
from nodes.state.pods.pod_facts import Change
from nodes.state.tables import Tables
from nodes.state.volumes.volume_facts import volume_facts
from tests.kit.examples import examples

Event = Callable[[Tables], Change]
"""Tells tables of an object."""


def stored(world: World) -> list[Any]:
    return [
        msgspec.convert(item, kind) for name, kind in STORAGE.items() for item in world.objects.get(name, [])
    ]


def pods(world: World) -> list[Pod]:
    return [msgspec.convert(each, Pod) for each in [*world.pods, *world.members]]


def events(world: World) -> list[Event]:
    behind = [partial(Tables.upsert_storage, item=each) for each in stored(world)]
    return [*behind, *(partial(Tables.upsert_pod, pod=each) for each in pods(world))]


def said(tables: Tables) -> dict[str, Any]:
    """By pod what is known of its claims. Versions tell states apart, and depend on the order."""
    snapshot = tables.snapshot()
    found = {}
    for row, claims in snapshot.pod_claims.items():
        its_class = snapshot.classes[snapshot.pod_class[row]]
        assert its_class is not None
        found[snapshot.pod_uids[row]] = claims, its_class.unmodelled, [*_without_versions(its_class.needs)]
    return found


def _without_versions(needs: tuple[Any, ...]) -> Iterator[Any]:
    for each in needs:
        if isinstance(each, PodVolumes):
            storage = [
                (known.volumes, known.provisions, known.allowed_topologies, known.capacities)
                for known in each.storage
            ]
            yield each.refusal, each.affinity, each.unbound, storage
        else:
            yield each


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2**32), st.randoms(use_true_random=False))
def test_no_order_of_events_makes_a_difference(seed: int, random: Any) -> None:
    world = random_world(Random(seed), "volumes")
    first, second = Tables(), Tables()
    for event in events(world):
        event(first)
    for event in random.sample(events(world), len(events(world))):
        event(second)
    assert said(first) == said(second)


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 2**32), st.randoms(use_true_random=False))
def test_what_was_there_before_makes_no_difference(seed: int, before: int, random: Any) -> None:
    """Objects of another world come first; then they change into those of this one, or go."""
    world, old = (random_world(Random(each), "volumes") for each in (seed, before))
    fresh, used = Tables(), Tables()
    for event in events(world):
        event(fresh)
    for event in events(old):
        event(used)
    going = [(type(each), each.metadata.namespace, each.metadata.name) for each in stored(old)]
    for event in random.sample(events(world), len(events(world))):
        event(used)
    staying = {(type(each), each.metadata.namespace, each.metadata.name) for each in stored(world)}
    for kind, namespace, name in random.sample(going, len(going)):
        if (kind, namespace, name) not in staying:
            used.delete_storage(kind, namespace, name)
    kept = {each.metadata.name for each in pods(world)}
    for each in pods(old):
        if each.metadata.name not in kept:
            used.delete_pod(each.metadata.namespace, each.metadata.name)
    assert {uid: what for uid, what in said(used).items() if uid in said(fresh)} == said(fresh)


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 2**32), st.randoms(use_true_random=False))
def test_a_copy_has_the_same_behind_claims_and_does_not_move(seed: int, other: int, random: Any) -> None:
    world, later = (random_world(Random(each), "volumes") for each in (seed, other))
    asked, tables = [*pods(world), *pods(later)], Tables()
    for event in events(world):
        event(tables)
    copied = tables.volumes.copied()
    before = [(copied.resolve(claims_of(each)), copied.uses(claims_of(each))) for each in asked]
    volumes = tables.volumes
    assert before == [(volumes.resolve(claims_of(each)), volumes.uses(claims_of(each))) for each in asked]
    for event in random.sample(events(later), len(events(later))):
        event(tables)
    for each in stored(world)[::2]:
        tables.delete_storage(type(each), each.metadata.namespace, each.metadata.name)
    assert [(copied.resolve(claims_of(each)), copied.uses(claims_of(each))) for each in asked] == before


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 2**32), st.randoms(use_true_random=False))
def test_a_change_that_decides_is_told(seed: int, random: Any) -> None:
    """If an event changes what is known of a member's claims, it says so, and the version grows."""
    world = random_world(Random(seed), "volumes")
    tables = Tables()
    for each in pods(world):
        tables.upsert_pod(each)
    for each in random.sample(stored(world), len(stored(world))):
        before, version = said(tables), tables.version
        changed = tables.upsert_storage(each)
        if said(tables) != before:
            assert changed == Change.DECISION
            assert tables.version > version


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 2**32), st.randoms(use_true_random=False))
def test_nothing_is_left_of_what_is_gone(seed: int, random: Any) -> None:
    world = random_world(Random(seed), "volumes")
    tables = Tables()
    for event in events(world):
        event(tables)
    gone = [partial(tables.delete_pod, each.metadata.namespace, each.metadata.name) for each in pods(world)]
    for each in stored(world):
        meta = each.metadata
        gone.append(partial(tables.delete_storage, type(each), meta.namespace, meta.name))
    for delete in random.sample(gone, len(gone)):
        delete()
    claimants, volumes = tables.pods.claimants, tables.volumes
    left: list[Sized] = [
        claimants._pods,
        claimants._users,
        claimants._uses,
        claimants._bare,
        tables.classes.classes,
    ]
    left += [volumes.claims, volumes._volumes, volumes._classes, volumes._tracked, volumes._capacities]
    left += [
        volumes._of_volume,
        volumes._of_class,
        volumes._volumes_of_class,
        volumes._reserved,
        volumes._storage,
    ]
    assert [len(each) for each in left] == [0] * len(left)
    assert volumes.limits.share() == {}


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2**32))
def test_no_volume_is_passed_over_that_a_node_can_use(seed: int) -> None:
    """Those that are near a node are looked at; the others could not be used there."""
    world = random_world(Random(seed), "volumes")
    volumes = tuple(
        volume_facts(each).available for each in stored(world) if isinstance(each, PersistentVolume)
    )
    storage = ClassStorage(1, volumes)
    for node in world.nodes:
        labels = node["metadata"]["labels"]
        usable = [
            each
            for each in volumes
            if each.affinity is None or node_selector_matches(each.affinity, labels, "")
        ]
        near = list(storage.near(labels))
        assert [each for each in near if each in usable] == usable
        assert len(near) == len({each.name for each in near})
