"""Lists are read page by page, also when they take longer than the API server keeps their version."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, cast

import pytest

from answers.reading.node_objects import NodeObjects
from cli.common.live import _Pages
from kube.client import ApiClient, ApiError


class Answers:
    """Gives these answers, one for each request, and keeps the tokens that were asked with."""

    def __init__(self, *answers: tuple[list[str], str] | ApiError) -> None:
        self._answers = list(answers)
        self.tokens: list[str] = []

    async def request(self, method: str, path: str, *, query: Mapping[str, str], seconds: float) -> bytes:
        self.tokens.append(query.get("continue", ""))
        answer = self._answers.pop(0)
        if isinstance(answer, ApiError):
            raise answer
        names, token = answer
        items = [
            {"metadata": {"name": name}, "spec": {"priority": 0, "containers": [{"name": "c"}]}}
            for name in names
        ]
        body: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "PodList",
            "metadata": {"continue": token},
            "items": items,
        }
        return json.dumps(body).encode()


def read(answers: Answers) -> list[str]:
    """The names of the pods that were read."""
    reader = NodeObjects()
    asyncio.run(_Pages(cast(ApiClient, answers), reader).read("/api/v1/pods", "Pod", ""))
    return sorted(reader.picture().snapshot.pod_names)


def test_pages_follow_one_another() -> None:
    answers = Answers((["a", "b"], "x"), (["c"], "y"), ([], ""))
    assert read(answers) == ["a", "b", "c"]
    assert answers.tokens == ["", "x", "y"]


def test_a_list_whose_version_is_gone_goes_on_at_the_newest_one() -> None:
    gone = ApiError(410, "Expired", "too old", continue_="newest")
    answers = Answers((["a"], "x"), gone, (["b"], ""))
    assert read(answers) == ["a", "b"]
    assert answers.tokens == ["", "x", "newest"]


def test_a_list_whose_version_is_always_gone_ends() -> None:
    gone = ApiError(410, "Expired", "too old", continue_="newest")
    with pytest.raises(ApiError, match="longer than its version is kept"):
        read(Answers((["a"], "x"), gone, gone, gone))


LAGS = ApiError(504, "Timeout", "Too large resource version: 7, current: 5", 0.0)


def test_an_api_server_that_says_when_to_come_back_is_asked_again() -> None:
    answers = Answers(LAGS, (["a"], "x"), LAGS, LAGS, (["b"], ""))
    assert read(answers) == ["a", "b"]
    assert answers.tokens == ["", "", "x", "x", "x"]


def test_an_api_server_that_always_lags_is_left() -> None:
    answers = Answers(*[LAGS] * 20)
    with pytest.raises(ApiError, match="Too large resource version"):
        read(answers)
    assert len(answers.tokens) == 11


def test_an_error_without_a_time_to_come_back_is_said_at_once() -> None:
    answers = Answers(ApiError(500, "InternalError", "no"), (["a"], ""))
    with pytest.raises(ApiError, match="InternalError"):
        read(answers)


def test_what_is_wrong_with_an_object_is_said_though_the_next_page_fails() -> None:
    with pytest.raises(
        ValueError, match="cluster: Pod, items\\[1\\], Pod default/a: this object is defined twice"
    ):
        read(Answers((["a", "a"], "x"), ApiError(500, "InternalError", "no")))
