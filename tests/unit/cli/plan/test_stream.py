from __future__ import annotations

import contextlib
import io
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cli.common.lines import answer_each
from cli.plan import asking, stream
from cli.plan.stream import plan_line
from hack.controlplane import objects
from hack.controlplane.objects import node
from tests.kit.changes import JSON
from tests.kit.examples import examples


def pod(name: str, priority: int, *, on: str = "", group: str = "") -> dict[str, Any]:
    return objects.pod(name, "d", cpu="4", node_name=on, group=group or None, priority=priority)


def gang(minimum: int) -> dict[str, Any]:
    return objects.pod_group("g", "d", min_count=minimum, priority=10)


OBJECTS = [
    node("n1"),
    node("n2"),
    pod("low", 1, on="n1"),
    gang(2),
    pod("a", 10, group="g"),
    pod("b", 10, group="g"),
]
GOOD: dict[str, Any] = {"id": "good", "objects": OBJECTS, "for": "d/g"}


def answers(*lines: bytes) -> tuple[bool, list[dict[str, Any]]]:
    out = io.BytesIO()
    complete = answer_each(lines, out, plan_line)
    return complete, [json.loads(line) for line in out.getvalue().splitlines()]


def line(**changes: Any) -> bytes:
    changed = {key: value for key, value in {**GOOD, **changes}.items() if value is not ...}
    return json.dumps(changed).encode() + b"\n"


def test_a_plan_a_line() -> None:
    hopeless = [*OBJECTS[:3], gang(3), *OBJECTS[4:]]
    complete, (first, second, third) = answers(line(), line(id=7, objects=hopeless), line(id="ä"))
    assert complete
    assert list(first) == ["id", "apiVersion", "kind", "metadata", "spec"]
    assert (first["id"], first["spec"]["outcome"]) == ("good", "Preempts")
    assert [victim["name"] for victim in first["spec"]["victims"]] == ["low"]
    assert (second["id"], second["spec"]["outcome"]) == (7, "Unschedulable")
    assert (third["id"], third["spec"]) == ("ä", first["spec"])


def test_a_line_says_what_the_options_say() -> None:
    alone = [*OBJECTS[:3], pod("web", 10)]
    full = [node("n1"), pod("cheap", 1, on="n1"), pod("web", 10)]
    complete, (single, ignoring, terms, twice) = answers(
        line(objects=alone, **{"for": "d/web"}, pod=True),
        line(objects=full, **{"for": "d/web"}, pod=True, disruptionBudgets="Ignore"),
        line(scoreTerms=["Fragmentation", "DisruptionCost"]),
        line(scoreTerms=["Cascade", "Cascade"]),
    )
    assert not complete
    assert (single["spec"]["preemptor"]["kind"], single["spec"]["outcome"]) == ("Pod", "Fits")
    assert (ignoring["spec"]["outcome"], ignoring["spec"]["podDisruptionBudgetPolicy"]) == (
        "Preempts",
        "Ignore",
    )
    shown = terms["spec"]["domains"][0]["score"]["terms"]
    assert [each["name"] for each in shown] == ["Fragmentation", "DisruptionCost"]
    assert twice == {"id": "good", "error": "scoreTerms[1]: Cascade is there already"}


def test_bad_lines_do_not_stop_the_rest() -> None:
    complete, (first, second, third) = answers(b"{oops\n", line(), line(id="last", objects=5))
    assert not complete
    assert first["id"] is None
    assert first["error"].startswith("is not JSON: ")
    assert second["spec"]["outcome"] == "Preempts"
    assert third == {"id": "last", "error": "objects: expected a list, got an integer"}


@pytest.mark.parametrize(
    ("raw", "identifier", "message"),
    [
        (b"", None, "is not JSON"),
        (b"\n", None, "is not JSON"),
        (b"null\n", None, "expected an object, got null"),
        (b"[]\n", None, "expected an object, got a list"),
        (b"[" * 100_000, None, "is nested too deeply"),
        (b"NaN\n", None, "is not JSON"),
        (b'{"id": "\xff"}\n', None, "is not UTF-8 (byte 9)"),
        (b'{"id": "\\ud800"}\n', None, "is not JSON"),
        (b'{"id": "x", "other": "\xff"}\n', None, "is not UTF-8"),
        (b'{"id": "x"', None, "is not JSON"),
        (b'{"id": "x"} {}', None, "is not JSON"),
        (b'{"id": NaN}', None, "is not JSON"),
        (b'{"id": ' + b"[" * 100_000, None, "is nested too deeply"),
        (b'{"id": "x", "objects": ' + b"[" * 100_000, None, "is nested too deeply"),
        (line(id=...), None, "id: is missing"),
        (line(id=None), None, "id: expected a string or a number"),
        (line(id=["x"]), None, "id: expected a string or a number"),
        (line(id=True), None, "id: expected a string or a number"),
        (line(objects=...), "good", "objects: is missing"),
        (line(objects={}), "good", "objects: expected a list, got an object"),
        (line(objects=[1]), "good", "objects[0]: expected an object, got an integer"),
        (line(objects=[{}]), "good", "objects[0]: apiVersion: is missing"),
        (line(**{"for": ...}), "good", "for: is missing"),
        (line(**{"for": 1}), "good", "for: expected a string, got an integer"),
        (line(**{"for": "g"}), "good", "for: expected NAMESPACE/NAME, not 'g'"),
        (line(**{"for": "d/g/x"}), "good", "for: expected NAMESPACE/NAME"),
        (line(**{"for": "d/"}), "good", "for: expected NAMESPACE/NAME"),
        (line(**{"for": "d/other"}), "good", "PodGroup d/other: there is no such object"),
        (line(**{"for": "d/low"}), "good", "PodGroup d/low: there is no such object"),
        (line(objects=[*OBJECTS, node("n1")]), "good", "objects[6], Node n1: this object is defined twice"),
        (
            line(
                objects=[
                    *OBJECTS[:3],
                    {**gang(2), "spec": {**gang(2)["spec"], "minCount": 1, "priority": 2**31}},
                ]
            ),
            "good",
            "objects[3], PodGroup d/g: spec.priority: expected an integer <= 2147483647",
        ),
        (
            line(
                objects=[
                    *OBJECTS,
                    {**pod("x", 0), "spec": {"containers": [{"name": "c"}], "overhead": {"cpu": "?"}}},
                ]
            ),
            "good",
            'objects[6], Pod d/x: spec.overhead.cpu: "?" is not a quantity',
        ),
    ],
)
def test_what_is_wrong_with_a_line(raw: bytes, identifier: object, message: str) -> None:
    complete, (answer,) = answers(raw)
    assert not complete
    assert answer["id"] == identifier
    assert answer["error"].startswith(message)


def test_a_missing_class_is_named() -> None:
    group = gang(2)
    group["spec"] = {"schedulingPolicy": {"gang": {"minCount": 2}}, "priorityClassName": "nope"}
    _, (answer,) = answers(line(objects=[*OBJECTS[:3], group, *OBJECTS[4:]]))
    assert answer["error"].startswith(
        "objects[3], PodGroup d/g: spec.priorityClassName: there is no PriorityClass"
    )


@pytest.mark.parametrize("number", [b"0", b"-7", b"1.50", b"1e999", b"9" * 400])
def test_numbers_come_back_digit_for_digit(number: bytes) -> None:
    out = io.BytesIO()
    assert answer_each([line().replace(b'"good"', number)], out, plan_line)
    assert out.getvalue().startswith(b'{"id":' + number + b",")


def test_our_own_faults_cost_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    real, seen = asking.ask, []

    def faulty(*arguments: Any, **options: Any) -> Any:
        seen.append(arguments)
        if len(seen) == 1:
            raise ZeroDivisionError("oops")
        return real(*arguments, **options)

    monkeypatch.setattr(stream, "ask", faulty)
    complete, (first, second) = answers(line(), line())
    assert not complete
    assert first == {"id": "good", "error": "internal error: ZeroDivisionError('oops')"}
    assert second["spec"]["outcome"] == "Preempts"


@settings(max_examples=examples(200))
@given(st.lists(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()), max_size=4))
def test_any_lines_get_as_many_answers(lines: list[bytes]) -> None:
    complete, found = answers(*lines, line())
    assert len(found) == len(lines) + 1
    assert found[-1]["spec"]["outcome"] == "Preempts"
    assert complete == (not lines)


@settings(max_examples=examples(200))
@given(st.sampled_from(["id", "objects", "for"]), JSON)
def test_any_value_in_a_field(name: str, value: object) -> None:
    _, (answer,) = answers(line(**{name: value}))
    assert ("spec" in answer) != ("error" in answer)


@given(st.integers(0, len(line()) - 1), st.binary(max_size=4))
@example(0, b" ")
def test_any_damage(at: int, damage: bytes) -> None:
    raw = line()
    _, (answer,) = answers(raw[:at] + damage + raw[at + len(damage) :])
    assert ("spec" in answer) != ("error" in answer)
    with contextlib.suppress(KeyError):
        assert "internal error" not in answer["error"]
