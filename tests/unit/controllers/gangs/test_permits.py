"""A term of Enforce that lacks rights observes, says so, and asks again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import orjson
import pytest

from controllers.gangs import controller as controller_module
from controllers.gangs import permits
from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.controller import GangController
from controllers.gangs.leading import Leading
from controllers.gangs.lifecycle.modes import Mode, Modes
from controllers.gangs.observing import Observing
from controllers.gangs.permits import NEEDED, Permits
from kube.access import PATH
from kube.client import ApiClient
from kube.errors import ApiError
from runtime.mirror.views import Views
from runtime.terms.term import Term
from tests.kit.stage import Api
from tests.kit.waiting import until

ALL = {str(each) for each in NEEDED}


class Granting(Api):
    """An API server that grants these rights on pods."""

    def __init__(self, granted: set[str], error: ApiError | None = None) -> None:
        super().__init__()
        self.granted, self.error, self.asked = granted, error, 0

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        if path != PATH:
            return await super().request(method, path, **options)
        self.asked += 1
        await asyncio.sleep(0)
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        of = orjson.loads(options["body"])["spec"]["resourceAttributes"]
        resource = "/".join(filter(None, (of["resource"], of.get("subresource"))))
        return orjson.dumps({"status": {"allowed": f"{of['verb']} {resource}" in self.granted}})


def made(api: Api, mode: Mode = "Enforce") -> tuple[Permits, Modes]:
    modes = Modes(mode)
    return Permits(cast(ApiClient, api), modes), modes


@pytest.mark.parametrize("missing", sorted(ALL))
async def test_without_one_of_the_rights_nothing_is_enforced(missing: str) -> None:
    asked, modes = made(Granting(ALL - {missing}))
    await asked.ask()
    assert asked.lacking == (missing,)
    assert (modes.enforces, modes.of("default"), modes.observes("default")) == (False, "Observe", True)
    asked.end()
    assert asked.lacking == tuple[str, ...]()
    assert modes.of("default") == "Enforce"


async def test_with_all_of_them_it_enforces() -> None:
    asked, modes = made(Granting(ALL))
    await asked.ask()
    assert (asked.lacking, modes.enforces) == ((), True)


@pytest.mark.parametrize("mode", ["Observe", "Off"])
async def test_who_enforces_nothing_does_not_ask(mode: Mode) -> None:
    api = Granting(set())
    asked, modes = made(api, mode)
    await asked.ask()
    assert (api.asked, asked.lacking, modes.of("default")) == (0, (), mode)


async def test_who_may_not_ask_observes() -> None:
    asked, modes = made(Granting(ALL, ApiError(403, "Forbidden", "no")))
    await asked.ask()
    assert asked.lacking == ("create selfsubjectaccessreviews.authorization.k8s.io",)
    assert not modes.enforces


async def test_no_answer_is_not_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permits, "NO_ANSWER_SECONDS", 0.0)
    asked, modes = made(Granting(ALL, ApiError(503, "ServiceUnavailable", "later")))
    await asked.ask()
    assert (asked.lacking, modes.enforces) == ((), True)


async def test_it_asks_again_and_leads_anew_once_the_rights_are_granted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def is_new(*_: object) -> None:
        """The views are."""

    monkeypatch.setattr(controller_module, "catch_up", is_new)
    monkeypatch.setattr(permits, "AGAIN_SECONDS", 0.0)
    api = Granting({"patch pods"})
    with ThreadPoolExecutor(1) as executor:
        views = Views(cast(ApiClient, api), clock=api.clock)
        configuration = PlanningConfiguration(mode="Enforce")
        controller = GangController(configuration, cast(ApiClient, api), views, executor, api.clock)
        for view in views:
            view.replaced(set(), "")

        async def led(kind: type, then: Callable[[], None]) -> None:
            """A call of `lead`, in which something of this kind acts. `then` happens meanwhile."""
            leading = asyncio.create_task(controller.lead(Term(1, api.clock, holder="test", began=0.0)))
            await until(lambda: isinstance(controller._acting, kind))
            then()
            await until(leading.done if kind is Observing else lambda: True)
            leading.cancel()
            await asyncio.gather(leading, return_exceptions=True)

        await led(Observing, lambda: api.granted.update(ALL))
        assert (controller.permits.lacking, controller.leading) == ((), None)
        await led(Leading, lambda: None)
