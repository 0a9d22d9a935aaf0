"""What a process is made of in each mode, and what it answers that does not enforce."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any, cast

import hypothesis.strategies as st
import msgspec
import orjson
import pytest
from hypothesis import given

from cli.common.configuration import Configuration
from cli.serve.process import _Services
from controllers.account.controller import AccountController
from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.controller import GangController
from controllers.gangs.lifecycle.modes import Mode
from extender.configuration import ExtenderConfiguration
from extender.service import EchoService, ExtenderService
from extender.wire import Verb
from kube.client import ApiClient
from runtime.mirror.views import Views
from runtime.terms.term import Term
from tests.kit.objects import gang, member, node, pod
from tests.kit.stage import KINDS, Api

STATES = ("new", "synced", "silent", "leading", "led")
NAMES = st.none() | st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=9), max_size=5
)
CALLS = st.sampled_from(
    [
        member(),
        member("late", group="unknown"),
        pod("p"),
        pod("native", schedulingGroup={"podGroupName": "gang"}),
        None,
        {"metadata": 7},
        "damaged",
    ]
)


def services(mode: Mode, api: Api, stack: AsyncExitStack, *, listens: bool = True) -> tuple[_Services, Views]:
    extender = ExtenderConfiguration(plain_http=True, bind_address="127.0.0.1") if listens else None
    configuration = Configuration(planning=PlanningConfiguration(mode=mode), extender=extender)
    views = Views(cast(ApiClient, api), clock=api.clock)
    made = _Services(configuration, cast(ApiClient, api), views, api.clock, stack)
    made.add_nodes_plane(None, None)
    return made, views


BOTH = [GangController, AccountController]


@pytest.mark.parametrize(
    ("mode", "listens", "controllers", "parts"),
    [
        ("Enforce", True, BOTH, [ExtenderService]),
        ("Observe", True, BOTH, [EchoService]),
        ("Observe", False, BOTH, []),
        ("Off", True, [], [EchoService]),
        ("Off", False, [], []),
    ],
)
async def test_the_parts_of_a_process(
    mode: Mode, listens: bool, controllers: list[type], parts: list[type]
) -> None:
    async with AsyncExitStack() as stack:
        made, _ = services(mode, Api(), stack, listens=listens)
        assert [type(each) for each in made.controllers] == controllers
        assert [type(each) for each in made.parts] == parts


async def bring(made: _Services, views: Views, api: Api, state: str) -> None:
    """The process comes to this state."""
    if state == "new":
        return
    shown = {view.kind: view for view in views}
    for view in views:
        view.replaced(set(), "")
    for each in (node("n0"), gang(minimum=2), member()):
        shown[KINDS[type(each)].kind].upsert(each, listed=True)
    for view in views:
        view._reflector._heard = api.clock.monotonic() - (1000.0 if state == "silent" else 0.0)
    for controller in made.controllers:
        if isinstance(controller, AccountController):
            if state in ("leading", "led"):
                controller.begin(Term(1, api.clock, holder="test"))
            continue
        assert isinstance(controller, GangController)
        if state in ("leading", "led"):
            observing = controller.observe(Term(1, api.clock, holder="test"))
            await controller.take_over(observing)
            await observing.planner.step()
            if state == "led":
                await controller.step_down(observing)


@pytest.mark.parametrize(("mode", "state"), [*(("Observe", state) for state in STATES), ("Off", "new")])
async def test_a_process_that_does_not_enforce_gives_back_the_bytes_in_every_state(
    mode: Mode, state: str
) -> None:
    api = Api()
    async with AsyncExitStack() as stack:
        made, views = services(mode, api, stack)
        await bring(made, views, api, state)
        (part,) = made.parts
        assert isinstance(part, EchoService)
        await asyncio.to_thread(gives_back, part, asyncio.get_running_loop())


async def test_without_the_rights_to_enforce_it_gives_back_the_bytes_too() -> None:
    """A term finds out that it lacks them. Before and after that, members wait for what is decided."""
    call = b'{"Pod":%s,"NodeNames":["n0"]}' % msgspec.json.encode(member())
    async with AsyncExitStack() as stack:
        made, _ = services("Enforce", Api(), stack)
        (part,) = made.parts
        assert isinstance(part, ExtenderService)
        gangs, _ = made.controllers
        assert isinstance(gangs, GangController)
        held = part.answer("filter", call)
        gangs.permits._found(("patch pods",))
        assert list(made.lacking()) == ["patch pods"]
        assert b'"NodeNames":["n0"],"FailedNodes":{}' in part.answer("filter", call)
        gangs.permits.end()
        assert part.answer("filter", call) == held
        assert b'"NodeNames":["n0"]' not in held


def gives_back(part: EchoService, loop: asyncio.AbstractEventLoop) -> None:
    async def in_loop(verb: Verb, body: bytes) -> bytes:
        return part.answer(verb, body)

    def answer(verb: Verb, body: bytes) -> bytes:
        return asyncio.run_coroutine_threadsafe(in_loop(verb, body), loop).result()

    @given(CALLS, NAMES)
    def names_and_candidates(of: Any, names: list[str] | None) -> None:
        whose = msgspec.json.encode(of)
        offered = orjson.dumps(names, option=orjson.OPT_INDENT_2)
        victims = orjson.dumps(names and {name: {"Pods": [{"UID": name}]} for name in names})
        filtered = answer("filter", b'{"Pod":%s,"NodeNames":%s}' % (whose, offered))
        assert b'"NodeNames":' + offered + b',"FailedNodes":{}' in filtered
        preempted = answer("preempt", b'{"NodeNameToMetaVictims":%s,"Pod":%s}' % (victims, whose))
        assert preempted == b'{"NodeNameToMetaVictims":' + victims + b"}"

    names_and_candidates()
