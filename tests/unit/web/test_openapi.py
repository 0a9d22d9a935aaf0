"""The description of the API is that of what is answered."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from answers.map.blocks import Key
from answers.map.panel import NodeRoom as FoundRoom
from answers.map.whole import Map as FoundMap
from answers.waiting import Row as FoundRow
from answers.waiting import Waiting as FoundWaiting
from api.waits import Place, PodCount, Wait
from hack.page_api import page
from hack.page_types import types
from web.openapi import document
from web.routes import described
from web.streams import HEARTBEAT_SECONDS
from web.wire.map import Map, NodeRoom
from web.wire.waiting import Waiting
from web.wire.why import Answer

ROOT = Path(__file__).parents[3]
WAIT = Wait(
    "Pod",
    "a/b",
    True,
    "Waits",
    "It waits.",
    numbers={"members": 1, "queue": "q"},
    places=(Place("zone", "Infeasible", "full"),),
    pod_sets=(PodCount("main", 1, 2),),
    decision={"outcome": "Fits"},
)


def test_an_answer_has_the_fields_of_the_command() -> None:
    """None more, and none less: unknown fields are an error, and all are needed."""
    strict = msgspec.defstruct(
        "Strict",
        [(each.name, each.type) for each in msgspec.structs.fields(Answer)],
        rename="camel",
        forbid_unknown_fields=True,
    )
    plain = {**WAIT.plain(), "depends": [WAIT.plain()]}
    assert msgspec.to_builtins(msgspec.convert(plain, strict)) == plain


def test_the_list_has_the_fields_of_answers() -> None:
    row = FoundRow("podgroup", "a", "b", 1, "Waits", "It waits.", "", None, 2, 2, 0, "", "")
    plain = {
        "version": "v",
        "moment": "",
        "trouble": "",
        **FoundWaiting([row], [], [row], ["list nodes"]).plain(),
    }
    assert msgspec.to_builtins(msgspec.convert(plain, Waiting)) == plain


def test_the_map_and_its_nodes_have_the_fields_of_answers() -> None:
    head = {"version": "v", "moment": "", "trouble": ""}
    key = Key("rack", 1)
    nodes = {
        each: [1] for each in ("block", "allocatable", "used", "leaving", "promised", "free", "anonymous")
    }
    parts = {each: [0] for each in ("node", "gang", "pods", "used", "leaving")}
    promised = victims = {each: [0] for each in ("node", "gang", "pods", "amount")}
    plan = {"kind": "PodGroup", "namespace": "a", "name": "b", "uid": "u", "priority": 1, "gang": 0}
    found = FoundMap(
        "rack",
        [key],
        "cpu",
        ["cpu"],
        ["r1", None],
        {"name": ["n"], **nodes},
        {"namespace": ["a"], "name": ["b"], "key": ["b"]},
        parts,
        [{**plan, "promised": promised, "victims": victims}],
        ["list pods"],
        "",
    )
    plain = {**head, **found.plain()}
    assert msgspec.to_builtins(msgspec.convert(plain, Map)) == plain
    amounts = dict.fromkeys(("allocatable", "used", "leaving", "promised", "free", "anonymous"), 1)
    pod = {"namespace": "a", "name": "b", "gang": "", "priority": 1, "requests": {"cpu": 1}}
    room = FoundRoom(
        "n",
        {"rack": "r1"},
        False,
        ["k:NoSchedule"],
        [{"name": "cpu", **amounts}],
        [{**pod, "leaving": True, "victimOf": ""}],
        [{**pod, "plan": "a/b-1"}],
        [],
    )
    plain = {**head, **room.plain()}
    assert msgspec.to_builtins(msgspec.convert(plain, NodeRoom)) == plain


def test_every_reference_leads_somewhere_and_every_address_needs_a_login_but_one() -> None:
    text = document(described()).decode()
    shown = json.loads(text)
    assert shown["openapi"] == "3.1.0"
    names = {f"#/components/schemas/{each}" for each in shown["components"]["schemas"]}
    assert {part.split('"')[0] for part in text.split('"$ref":"')[1:]} <= names
    open_ = [
        (method, path)
        for path, methods in shown["paths"].items()
        for method, operation in methods.items()
        if "security" not in operation
    ]
    assert open_ == [("post", "/api/v1/session")]


@pytest.mark.parametrize("path", ["docs/page-api.md"])
def test_the_page_about_the_api_is_made_from_it(path: str) -> None:
    assert (ROOT / path).read_text() == page(), "make docs"


@pytest.mark.parametrize("path", ["web/app/src/wire.ts"])
def test_the_types_of_the_front_end_are_made_from_it(path: str) -> None:
    assert (ROOT / path).read_text() == types(), "make docs"


def test_the_front_end_waits_for_two_heartbeats_and_says_within_five_seconds_that_none_came() -> None:
    (found,) = re.findall(r"SILENCE_MS = ([0-9_]+);", (ROOT / "web/app/src/follow.ts").read_text())
    assert 2 * HEARTBEAT_SECONDS < int(found) / 1000 < 5
