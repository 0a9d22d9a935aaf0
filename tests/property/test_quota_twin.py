"""The native quota search and its plain twin give the same answer, for the same reasons, always."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kit.examples import examples
from tests.property.quota_crowds import crowds
from tests.property.quotas import Compiled, Plain, Scene, filled, scenes, state, strategies

any_scene = st.one_of(scenes(), crowds(), crowds(), crowds())


@settings(max_examples=examples(500), deadline=None)
@given(scene=any_scene)
def test_they_agree_on_the_tree(scene: Scene) -> None:
    plain, compiled = (filled(kind, scene.quotas, scene.holders) for kind in (Plain, Compiled))
    assert state(compiled, scene.quotas) == state(plain, scene.quotas)
    unit = max(scene.ask.amounts)
    for queue in range(scene.quotas.queues):
        for fr in range(len(scene.quotas.resource)):
            for amount in (1, unit // 2, unit, 2 * unit):
                assert compiled.height(queue, fr, amount) == plain.height(queue, fr, amount)


@settings(max_examples=examples(1500), deadline=None)
@given(scene=any_scene, strategy=strategies())
def test_they_agree_on_who_must_go(scene: Scene, strategy: tuple[int, ...] | None) -> None:
    agree(scene, strategy)


@settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(scene=crowds(most=400), strategy=strategies())
def test_they_agree_on_crowds(scene: Scene, strategy: tuple[int, ...] | None) -> None:
    """Where the native search passes over many at a time."""
    agree(scene, strategy)


@settings(max_examples=examples(500), deadline=None)
@given(scene=st.one_of(scenes(single=True), crowds(single=True)), strategy=strategies())
def test_they_agree_on_what_preemption_would_do(scene: Scene, strategy: tuple[int, ...] | None) -> None:
    plain, compiled = (filled(kind, scene.quotas, scene.holders) for kind in (Plain, Compiled))
    assert compiled.simulate(scene.ask, strategy) == plain.simulate(scene.ask, strategy)


@settings(max_examples=examples(500), deadline=None)
@given(scene=any_scene, strategy=strategies())
def test_they_agree_where_not_all_that_is_contested_must_be_there_in_the_end(
    scene: Scene, strategy: tuple[int, ...] | None
) -> None:
    amounts = list(scene.ask.amounts)
    amounts[scene.ask.contested.index(True)] = 0
    agree(replace(scene, ask=replace(scene.ask, amounts=tuple(amounts))), strategy)


def agree(scene: Scene, strategy: tuple[int, ...] | None) -> None:
    """Targets, reasons, and all that happened on the way."""
    plain, compiled = (filled(kind, scene.quotas, scene.holders) for kind in (Plain, Compiled))
    found, expected = (ledger.search(scene.ask, strategy, trace=True) for ledger in (compiled, plain))
    assert (found.targets, found.trace) == (expected.targets, expected.trace)
    assert compiled.search(scene.ask, strategy).targets == expected.targets
