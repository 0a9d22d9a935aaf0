"""A browser with an open page of a real control plane, which is never loaded again: what comes and goes is shown."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from hack.controlplane.manifests import MANIFESTS, apply_cluster_objects
from hack.controlplane.plane import ControlPlane
from tests.e2e.page_browsers import browsing, is_the_same, log_in, show
from tests.e2e.page_kubectl import expect_kubectl
from tests.e2e.served_page import OF_ALL, RBAC, READS, Page, serving
from tests.e2e.support import PlaneFactory, Sandbox
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.often import SELDOM
from tests.web.downloads import file_of

if TYPE_CHECKING:
    from playwright.async_api import Locator

    from tests.web.browsers import Tab

pytestmark = SELDOM

LINGER: Final = ["reprieve.dev/linger"]
OF_A_TENANT: Final = [{"apiGroups": ["", "reprieve.dev"], "resources": ["pods", "podgroups"], "verbs": READS}]
OF_NODES: Final = [{"apiGroups": [""], "resources": ["nodes"], "verbs": READS}]
LOST: Final = "The connection to the server is lost."


@contextmanager
def served(plane: ControlPlane, sandbox: Sandbox, folder: Path) -> Iterator[Page]:
    """The page with its real front end."""
    with serving(plane, sandbox.namespace, folder, bare=False) as page:
        yield page


def row(tab: Tab, *texts: str) -> Locator:
    """The row of a table that has all these texts."""
    found = tab.page.get_by_role("row")
    for text in texts:
        found = found.filter(has_text=text)
    return found.first


async def in_thread(work: Callable[..., Any], *given: Any, **named: Any) -> Any:
    return await asyncio.to_thread(work, *given, **named)


class Full(NamedTuple):
    """A cluster of two nodes, each with one pod of low priority, the page of it, and its administrator."""

    sandbox: Sandbox
    page: Page
    token: str
    nodes: list[str]


@asynccontextmanager
async def full_cluster(
    planes: PlaneFactory, sandboxes: Callable[[ControlPlane], Sandbox], folder: Path, lingering: int
) -> AsyncIterator[Full]:
    """reprieve runs there. `lingering`: the number of the pod that stays until it is released."""
    plane = await in_thread(planes, reprieve=True)
    sandbox = await in_thread(sandboxes, plane)
    with served(plane, sandbox, folder) as page:
        token = page.reader("admin", OF_ALL, everywhere=True)
        nodes = await in_thread(sandbox.nodes, 2, cpu="1")
        for number, node in enumerate(nodes):
            stays = LINGER if number == lingering else None
            await in_thread(sandbox.filler, f"low-{number}", node, 1, finalizers=stays)
        yield Full(sandbox, page, token, nodes)


async def test_each_phase_of_a_preemption_is_shown(
    planes: PlaneFactory, sandboxes: Callable[[ControlPlane], Sandbox], tmp_path: Path
) -> None:
    async with full_cluster(planes, sandboxes, tmp_path, lingering=0) as full:
        sandbox = full.sandbox
        async with browsing(full.page) as tab:
            await log_in(tab, full.token)
            await show(tab, "#/waiting")
            await in_thread(sandbox.group, "hero", min_count=2, priority=100)
            await in_thread(sandbox.pod, "hero-0", group="hero", priority=100)
            await row(tab, "hero", "Gathering").wait_for()
            await show(tab, "#/plans")
            await in_thread(sandbox.pod, "hero-1", group="hero", priority=100)
            await row(tab, "hero", "Evicting").wait_for()
            plan = (await in_thread(sandbox.wait_plan, "hero", "Evicting"))["metadata"]["name"]
            await show(tab, f"#/plan/{sandbox.namespace}/{plan}")
            phases = tab.page.locator("article.answer")
            await phases.get_by_text("Evicting").first.wait_for()
            await in_thread(sandbox.release, "low-0-0")
            await in_thread(sandbox.wait_bound, "hero-0", "hero-1")
            await phases.get_by_text("Bound").first.wait_for()
            stored = await in_thread(sandbox.wait_plan, "hero", "Bound")
            text = await phases.inner_text()
            for each in stored["status"]["conditions"]:
                assert each["type"] in text
            await expect_map(tab, sandbox)
            await show(tab, "#/waiting")
            await tab.page.get_by_text("hero").first.wait_for(state="detached")
            plane = sandbox.plane
            assert plane is not None
            await expect_kubectl(tab, plane, f"{sandbox.namespace}/{plan}", full.nodes[0])
            tab.expect_nothing()


async def expect_map(tab: Tab, sandbox: Sandbox) -> None:
    """The table of the map has what the API server has."""
    await show(tab, "#/map")
    await tab.page.get_by_role("button", name="Map as table").click()
    await tab.page.get_by_role("table", name="Nodes").wait_for()
    for node in set((await in_thread(sandbox.bound)).values()):
        line = row(tab, node, f"{sandbox.namespace}/hero 1 pod")
        await line.wait_for()
        assert "low-" not in await line.inner_text()


async def test_an_open_map_follows_by_frames(
    planes: PlaneFactory, sandboxes: Callable[[ControlPlane], Sandbox], tmp_path: Path
) -> None:
    """Nodes and pods come and go. At the end the picture, the table, a new answer and the API server say the same."""
    async with full_cluster(planes, sandboxes, tmp_path, lingering=1) as full:
        sandbox, page, token, (first, second) = full
        asked = list[str]()
        async with browsing(page) as tab:
            tab.page.on("request", lambda each: asked.append(each.url.partition("/api/v1/")[2]))
            await log_in(tab, token)
            await show(tab, "#/map?resource=cpu&as=table")
            for each in (first, second):
                await row(tab, each, "no gang 1 pod").wait_for()
            await in_thread(sandbox.gang, "hero", 2, priority=100)
            await row(tab, second, "promised to", "hero").wait_for()
            maps = sum(each.startswith("map") for each in asked)
            third = await in_thread(sandbox.node, "third", cpu="1")
            await in_thread(sandbox.filler, "late", third, 1)
            await row(tab, third, "no gang 1 pod").wait_for()
            await in_thread(sandbox.release, "low-1-0")
            await in_thread(sandbox.wait_bound, "hero-0", "hero-1")
            for each in (first, second):
                await row(tab, each, "hero 1 pod").wait_for()
            assert sum(each.startswith("map") for each in asked) == maps, "frames say all of it"
            await expect_pause(tab, sandbox, third)
            await expect_agreement(tab, page, token, sandbox)
            await in_thread(sandbox.client.delete, "v1", "Node", third)
            await row(tab, third).wait_for(state="detached")
            await expect_agreement(tab, page, token, sandbox)
            tab.expect_nothing()


async def expect_pause(tab: Tab, sandbox: Sandbox, node: str) -> None:
    """What changes while updates are paused is shown when they go on."""
    await tab.page.get_by_role("button", name="Pause updates").click()
    await in_thread(sandbox.delete_pod, "late-0")
    await in_thread(sandbox.wait_gone, "late-0")
    await tab.page.get_by_text("Something has changed since then.").wait_for()
    assert "no gang 1 pod" in await row(tab, node).inner_text()
    await tab.page.get_by_role("button", name="Resume updates").click()
    await row(tab, node, "no gang 1 pod").wait_for(state="detached")


async def expect_agreement(tab: Tab, page: Page, token: str, sandbox: Sandbox) -> None:
    """The page has the map that a new question gets, and its pods are those of the API server."""
    table = await stored(tab)
    chosen = f"map?topologyKey={table['topologyKey']}&resource={table['resource']}"
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            status, answer = await in_thread(page.ask, chosen, token)
            assert status == 200, answer
            if timeless(table := await stored(tab)) == timeless(answer):
                break
            await tab.page.wait_for_timeout(200)
    names, parts = table["nodes"]["name"], table["parts"]
    on = Counter[str]()
    for node, pods in zip(parts["node"], parts["pods"], strict=True):
        on[names[node]] += pods
    bound = await in_thread(sandbox.bound)
    assert {node: count for node, count in on.items() if node.startswith(sandbox.namespace)} == Counter(
        bound.values()
    )
    await show(tab, "#/map?resource=cpu")
    await tab.page.locator(".map-picture canvas").wait_for()
    drawn = await stored(tab)
    assert {each["name"]: each["used"] for each in drawn["nodes"]} == dict(
        zip(names, table["nodes"]["used"], strict=True)
    )
    await show(tab, "#/map?resource=cpu&as=table")
    await tab.page.get_by_role("table", name="Nodes").wait_for()


def timeless(found: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key not in ("version", "moment")}


async def stored(tab: Tab) -> Any:
    """What the page saves of its map."""
    return json.loads(
        await file_of(tab.page.locator(".map-picture").get_by_role("button", name="Save as JSON"))
    )


async def test_a_binding_that_goes_takes_its_rows_out_of_the_page(
    control_plane: ControlPlane, sandboxes: Callable[[ControlPlane], Sandbox], tmp_path: Path
) -> None:
    sandbox = await in_thread(sandboxes, control_plane)
    space = sandbox.namespace
    await in_thread(sandbox.pod, "lost-and-alone", schedulerName="nobody")
    await in_thread(sandbox.node, "seen")
    with served(control_plane, sandbox, tmp_path) as page:
        token = page.reader("tenant", OF_A_TENANT)
        page.reader("nodes", OF_NODES, everywhere=True)
        async with browsing(page) as tab:
            await tab.page.goto(f"http://127.0.0.1:{page.port}/?namespace={space}#/waiting")
            await log_in(tab, token)
            await tab.page.get_by_text("lost-and-alone").first.wait_for()
            await in_thread(page.client.delete, RBAC, "RoleBinding", f"{space}-tenant", space)
            await tab.page.get_by_text("lost-and-alone").first.wait_for(state="detached")
            content = await tab.page.content()
            assert "lost-and-alone" not in content
            await show(tab, f"#/pod/{space}/lost-and-alone")
            await tab.page.get_by_text(f"list pods in {space}").first.wait_for()
            await show(tab, "#/map")
            await tab.page.get_by_text("list nodes").first.wait_for()


async def test_a_restart_needs_a_login_and_no_reload(
    control_plane: ControlPlane, sandboxes: Callable[[ControlPlane], Sandbox], tmp_path: Path
) -> None:
    sandbox = await in_thread(sandboxes, control_plane)
    await in_thread(sandbox.pod, "lost-and-alone", schedulerName="nobody")
    with served(control_plane, sandbox, tmp_path) as page:
        token = page.reader("admin", OF_ALL, everywhere=True)
        async with browsing(page) as tab:
            await log_in(tab, token)
            await show(tab, "#/waiting?text=alone")
            await tab.page.get_by_text("lost-and-alone").first.wait_for()
            port = page.port
            await in_thread(page.stop)
            await tab.page.get_by_text(LOST).wait_for()
            assert await tab.page.get_by_text("lost-and-alone").count() > 0, "what is old is still shown"
            await in_thread(page.start)
            assert page.port == port
            await tab.page.get_by_label("Token of the API server").wait_for()
            assert await tab.page.get_by_text("lost-and-alone").count() == 0
            await log_in(tab, token)
            await tab.page.get_by_text("lost-and-alone").first.wait_for()
            assert tab.page.url.endswith("#/waiting?text=alone")
            assert await is_the_same(tab)


async def test_kinds_that_come_later_are_shown_without_a_reload(
    planes: PlaneFactory, sandboxes: Callable[[ControlPlane], Sandbox], tmp_path: Path
) -> None:
    plane = await in_thread(planes, manifests=())
    sandbox = await in_thread(sandboxes, plane)
    await in_thread(sandbox.pod, "lost-and-alone", schedulerName="nobody")
    with served(plane, sandbox, tmp_path) as page:
        token = page.reader("admin", OF_ALL, everywhere=True)
        async with browsing(page) as tab:
            await log_in(tab, token)
            await show(tab, "#/waiting")
            await tab.page.get_by_text("lost-and-alone").first.wait_for()
            await tab.page.get_by_text("No process says on a Lease what it does here").wait_for()
            await in_thread(install_crds, plane)
            await in_thread(sandbox.group, "late-gang", min_count=2)
            await in_thread(sandbox.pod, "late-0", group="late-gang", schedulerName="nobody")
            await row(tab, "late-gang", "Gathering").wait_for(timeout=90_000)
            assert await is_the_same(tab)


def install_crds(plane: ControlPlane) -> None:
    bodies = [
        body
        for file in sorted((MANIFESTS / "crds").glob("reprieve.dev_*.yaml"))
        for body in yaml.safe_load_all(file.read_text())
        if body
    ]
    apply_cluster_objects(plane.client, bodies)


async def test_a_cut_network_is_said_and_needs_no_reload(
    planes: PlaneFactory, sandboxes: Callable[[ControlPlane], Sandbox], tmp_path: Path
) -> None:
    """Between the page and the API server: no byte comes through, and nobody closes a connection."""
    plane = await in_thread(planes)
    sandbox = await in_thread(sandboxes, plane)
    await in_thread(sandbox.pod, "before", schedulerName="nobody")
    network = await in_thread(plane.open_outside)
    with serving(
        plane, sandbox.namespace, tmp_path, bare=False, api_port=network.port, recheckSeconds=600
    ) as page:
        token = page.reader("admin", OF_ALL, everywhere=True)
        async with browsing(page) as tab:
            await log_in(tab, token)
            await show(tab, "#/waiting")
            await tab.page.get_by_text("before").first.wait_for()
            network.disturb("BlackHole")
            await tab.page.get_by_text(
                re.compile("the API server does not answer|stands since")
            ).first.wait_for()
            await in_thread(sandbox.pod, "meanwhile", schedulerName="nobody")
            network.disturb("Pass")
            network.cut()
            await tab.page.get_by_text("meanwhile").first.wait_for(timeout=90_000)
            await tab.page.get_by_text("the API server does not answer").wait_for(state="detached")
            assert await is_the_same(tab)
