"""The mode of a namespace follows its labels."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from api.core import Namespace
from api.meta import LabelSelector, LabelSelectorRequirement, ObjectMeta
from controllers.gangs.lifecycle.modes import Mode, Modes

SELECTOR = LabelSelector({"reprieve.dev/mode": "enforce"}, None)


def namespace(name: str, labels: Mapping[str, str] | None = None) -> Namespace:
    return Namespace(metadata=ObjectMeta(name=name, labels=dict(labels) if labels is not None else None))


SELECTED = namespace("team", {"reprieve.dev/mode": "enforce"})
NOT_SELECTED = namespace("team", {"reprieve.dev/mode": "observe"})


@pytest.mark.parametrize("mode", ["Off", "Observe", "Enforce"])
def test_without_a_selector_the_mode_is_the_same_for_all(mode: Mode) -> None:
    modes = Modes(mode)
    modes.upsert(NOT_SELECTED)
    assert {modes.of("team"), modes.of("unknown")} == {mode}
    assert modes.knows("unknown")


@pytest.mark.parametrize("mode", ["Off", "Observe"])
def test_a_selector_narrows_only_enforce(mode: Mode) -> None:
    modes = Modes(mode, SELECTOR)
    modes.upsert(SELECTED)
    assert {modes.of("team"), modes.of("unknown")} == {mode}
    assert not modes.narrowed


def test_labels_count_as_they_are_now() -> None:
    modes = Modes("Enforce", SELECTOR)
    seen = [modes.of("team")]
    for each in (SELECTED, NOT_SELECTED, SELECTED):
        modes.upsert(each)
        seen.append(modes.of("team"))
    modes.delete("", "team")
    seen.append(modes.of("team"))
    assert seen == ["Observe", "Enforce", "Observe", "Enforce", "Observe"]


def test_a_namespace_without_labels_can_be_selected_by_what_it_lacks() -> None:
    modes = Modes("Enforce", LabelSelector(None, [LabelSelectorRequirement("canary", "DoesNotExist", [])]))
    modes.upsert(namespace("plain"))
    assert modes.of("plain") == "Enforce"
    assert modes.of("unknown") == "Observe"  # it may have the label
    assert (modes.knows("plain"), modes.knows("unknown")) == (True, False)


def test_each_change_of_a_mode_is_told_once() -> None:
    modes, told = Modes("Enforce", SELECTOR), list[tuple[str, Mode, Mode, Mode]]()
    modes.on_change(lambda name, before, now: told.append((name, before, now, modes.of(name))))
    for each in (NOT_SELECTED, SELECTED, SELECTED, NOT_SELECTED, namespace("other")):
        modes.upsert(each)
    modes.upsert(SELECTED)
    modes.delete("", "team")
    modes.delete("", "other")
    assert told == [
        ("team", "Observe", "Enforce", "Enforce"),
        ("team", "Enforce", "Observe", "Observe"),
        ("team", "Observe", "Enforce", "Enforce"),
        ("team", "Enforce", "Observe", "Observe"),
    ]
