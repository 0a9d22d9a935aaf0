"""Calls about pods that are left to the scheduler: the answers are the bytes that came."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import hypothesis.strategies as st
import msgspec
import orjson
import pytest
from hypothesis import given

from api.core import Pod
from extender.echo import Echo
from extender.quiet import QuietMoments
from tests.kit.clock import ManualClock
from tests.kit.verbs import pod

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.integers(-(2**53), 2**53)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
WHOLE = st.just(pod())
DAMAGED = st.builds(lambda name, value: {**pod(), name: value}, st.sampled_from(["metadata", "spec"]), JSON)
PODS = WHOLE | DAMAGED | JSON
VICTIMS = st.dictionaries(
    NAMES,
    st.none()
    | st.fixed_dictionaries({"Pods": st.none() | st.lists(JSON, max_size=3)}, optional={"More": JSON}),
    max_size=4,
)
UNKNOWN = st.dictionaries(NAMES.map("x-{}".format), JSON, max_size=2)


def spaced(value: object) -> bytes:
    """Not as we would write it: what is given back must not be written anew."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2)


def call(**parts: bytes) -> bytes:
    """A body of these parts, each as its bytes are."""
    members = (b"%s : %s" % (orjson.dumps(name), value) for name, value in parts.items())
    return b"{ %s }" % b" , ".join(members)


@given(PODS, st.none() | st.lists(NAMES, max_size=5) | JSON, UNKNOWN)
def test_filter_gives_back_the_bytes_of_the_names(of: object, names: object, unknown: dict[str, Any]) -> None:
    given_back = spaced(names)
    rest = {name: spaced(value) for name, value in unknown.items()}
    answer = Echo().answer("filter", call(Pod=spaced(of), Nodes=b"null", **rest, NodeNames=given_back))
    assert answer == (
        b'{"Nodes":null,"NodeNames":'
        + given_back
        + b',"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""}'
    )


@given(PODS, st.none() | VICTIMS | JSON, UNKNOWN)
def test_preempt_gives_back_the_bytes_of_the_candidates(
    of: object, victims: object, unknown: dict[str, Any]
) -> None:
    given_back = spaced(victims)
    rest = {name: spaced(value) for name, value in unknown.items()}
    answer = Echo().answer("preempt", call(**rest, NodeNameToMetaVictims=given_back, Pod=spaced(of)))
    assert answer == b'{"NodeNameToMetaVictims":' + given_back + b"}"


def test_ten_thousand_names_come_back() -> None:
    names = orjson.dumps([f"node-{number:05}.example" for number in range(10_000)])
    victims = orjson.dumps(
        {f"node-{number:05}": {"Pods": [{"UID": str(number)}]} for number in range(10_000)}
    )
    assert names in Echo().answer("filter", call(Pod=spaced(pod()), NodeNames=names))
    body = call(Pod=spaced(pod()), NodeNameToMetaVictims=victims)
    assert Echo().answer("preempt", body) == b'{"NodeNameToMetaVictims":' + victims + b"}"


def test_a_scheduler_that_sends_whole_nodes_gets_them_back() -> None:
    """It takes the field that it has filled in itself. An empty one would leave it no node."""
    nodes = b'{"items": [ {"metadata": {"name": "n0"}} ]}'
    answer = Echo().answer("filter", call(Pod=spaced(pod()), Nodes=nodes, NodeNames=b"null"))
    assert answer.startswith(b'{"Nodes":' + nodes + b',"NodeNames":null,')


@pytest.mark.parametrize(
    ("of", "seen"),
    [
        ({**pod(), "spec": {"schedulerName": "mine"}}, ["mine"]),
        ({**pod(), "spec": {}}, [""]),
        ({**pod(), "spec": {"schedulerName": 7}}, []),
        ({**pod(), "spec": None}, []),
        (None, []),
    ],
)
def test_the_scheduler_is_noted_if_the_pod_says_its_name(of: object, seen: list[str]) -> None:
    noted: list[str] = []
    Echo(noted.append).answer("filter", call(Pod=spaced(of), NodeNames=b"[]"))
    assert noted == seen


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"x", b'{"Pod": {', b"{} x", b'{"NodeNames": [}'])
def test_what_is_no_request_is_an_error(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        Echo().answer("filter", body)


def test_preempt_calls_are_heard_after_the_answer() -> None:
    heard: list[tuple[str, dict[str, list[str]]]] = []
    waiting: list[Callable[[], None]] = []

    def timer(_: float, what: Callable[[], None]) -> None:
        waiting.append(what)

    def later() -> None:
        clock.advance(1)
        while waiting:
            waiting.pop()()

    def hears(of: Pod, victims: Mapping[str, Collection[str]]) -> None:
        heard.append((of.metadata.name, {node: [*uids] for node, uids in victims.items()}))
        raise RuntimeError("a fault of ours")

    victims = b'{"n1": {"Pods": [{"UID": "u"}]}, "n2": {"Pods": null}}'
    clock = ManualClock()
    echo = Echo(hears=hears, quiet=QuietMoments(clock, timer))
    whole = call(Pod=spaced(pod()), NodeNameToMetaVictims=victims)
    assert echo.answer("preempt", whole) == b'{"NodeNameToMetaVictims":' + victims + b"}"
    assert heard == []
    later()
    assert heard == [("p", {"n1": ["u"], "n2": []})]
    damaged = call(Pod=b"7", NodeNameToMetaVictims=victims)
    assert echo.answer("preempt", damaged) == b'{"NodeNameToMetaVictims":' + victims + b"}"
    odd = call(Pod=spaced(pod()), NodeNameToMetaVictims=b'{"n1": null}')
    assert echo.answer("preempt", odd) == b'{"NodeNameToMetaVictims":{"n1": null}}'
    echo.answer("filter", call(Pod=spaced(pod()), NodeNames=b"[]"))
    later()
    assert len(heard) == 1
