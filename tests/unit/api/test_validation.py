from __future__ import annotations

import pytest

from api.core import Pod
from api.groups import PodGroup
from api.meta import Struct
from api.validation import FieldError, convert, join
from api.yaml import Json


def test_join_brackets_what_is_no_plain_key() -> None:
    assert join("", "spec") == "spec"
    assert join("metadata.labels", "app") == "metadata.labels.app"
    assert join("metadata.labels", "reprieve.dev/pod-group") == 'metadata.labels["reprieve.dev/pod-group"]'


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "expected an object, got a list"),
        ({"metadata": {}}, "spec: is missing"),
        ({"metadata": {"name": 5}, "spec": {}}, "metadata.name: expected a string, got an integer"),
        (
            {"metadata": {}, "spec": {"containers": [{"name": "a"}, {}]}},
            "spec.containers[1].name: is missing",
        ),
        (
            {"metadata": {"labels": {"a": "b", "c/d": 1, "e": "f"}}, "spec": {}},
            'metadata.labels["c/d"]: expected a string, got an integer',
        ),
        (
            {
                "metadata": {},
                "spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": 1, "memory": [1]}}}]},
            },
            "spec.containers[0].resources.requests.memory: "
            "expected an integer or a number or a string or null, got a list",
        ),
    ],
)
def test_messages_name_the_field(document: Json, message: str) -> None:
    with pytest.raises(FieldError) as caught:
        convert(document, Pod)
    assert str(caught.value) == message


def test_limits_and_choices() -> None:
    spec: dict[str, Json] = {"schedulingPolicy": {"gang": {"minCount": 0}}}
    with pytest.raises(FieldError) as caught:
        convert({"metadata": {}, "spec": spec}, PodGroup)
    assert str(caught.value) == "spec.schedulingPolicy.gang.minCount: expected an integer >= 1"
    with pytest.raises(FieldError, match=r"^spec\.preemptionPolicy: invalid enum value 'x'$"):
        convert({"metadata": {}, "spec": {"schedulingPolicy": {}, "preemptionPolicy": "x"}}, PodGroup)


class Inner(Struct):
    size: int = 0


class Outer(Struct):
    maps: dict[str, dict[str, list[Inner]]]


def test_the_key_is_found_through_mappings_of_mappings() -> None:
    document: Json = {"maps": {"a": {"x": [{"size": 1}]}, "b": {"y": [{}], "z": [{}, {"size": "2"}]}}}
    with pytest.raises(FieldError) as caught:
        convert(document, Outer)
    assert str(caught.value) == "maps.b.z[1].size: expected an integer, got a string"
