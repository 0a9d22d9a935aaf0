"""What the commands of the page that begin with kubectl give, beside the data of the panels that name them."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from hack.controlplane.plane import ControlPlane
from tests.e2e.page_browsers import show
from tests.e2e.pages import shell
from tests.web.downloads import file_of

if TYPE_CHECKING:
    from playwright.async_api import Locator

    from tests.web.browsers import Tab

__all__ = ["expect_kubectl"]

PODS_OF_NODE: Final = "Non-terminated Pods:"
AFTER_PODS: Final = "Allocated resources:"


async def expect_kubectl(tab: Tab, plane: ControlPlane, plan: str, node: str) -> None:
    """Each of these commands gives what its panel shows. `plan`: NAMESPACE/NAME of one that has evicted. Nothing
    changes meanwhile."""
    await _plan(tab, plane, plan)
    await _lists(tab, plane)
    await _map(tab, plane)
    await _node(tab, plane, node)


async def _panel(tab: Tab, plane: ControlPlane, panel: Locator) -> tuple[str, Any]:
    """What the command of the panel prints, and the panel's data."""
    button = panel.get_by_role("button", name="Copy as command").first
    command = await button.get_attribute("title") or ""
    assert command.startswith("kubectl "), command
    result = await asyncio.to_thread(shell, plane, command)
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout, json.loads(await file_of(panel.get_by_role("button", name="Save as JSON").first))


async def _plan(tab: Tab, plane: ControlPlane, plan: str) -> None:
    await show(tab, f"#/plan/{plan}")
    printed, shown = await _panel(tab, plane, tab.page.locator("article.answer"))
    stored = json.loads(printed)
    meta, spec = stored["metadata"], stored["spec"]
    assert f"{meta['namespace']}/{meta['name']}" == f"{shown['plan']['namespace']}/{shown['plan']['name']}"
    assert spec["preemptor"]["name"] == shown["plan"]["preemptor"]["name"]
    assert sorted(each["name"] for each in spec["victims"]) == sorted(
        each["name"] for each in shown["victims"]
    )
    phases = {each["name"]: each["time"] for each in shown["phases"]}
    conditions = (each for each in stored["status"]["conditions"] if each["status"] == "True")
    said = {each["type"]: each["lastTransitionTime"] for each in conditions}
    assert said
    assert {name: phases.get(name) for name in said} == said


async def _lists(tab: Tab, plane: ControlPlane) -> None:
    await show(tab, "#/plans")
    await tab.page.get_by_role("heading", name="Plans").wait_for()
    printed, shown = await _panel(tab, plane, tab.page.locator("main"))
    stored = json.loads(printed)["items"]
    plans = Counter((each["kind"], *_name(each)) for each in stored)
    assert plans == Counter((each["kind"], each["namespace"], each["name"]) for each in shown["plans"])
    await show(tab, "#/history")
    await tab.page.get_by_role("heading", name="History").wait_for()
    printed, shown = await _panel(tab, plane, tab.page.locator("main"))
    evicting = {"/".join(_name(each)) for each in json.loads(printed)["items"] if _evicted(each)}
    assert evicting
    assert {each["plan"] for each in shown["evictions"]} == evicting


def _evicted(plan: Any) -> bool:
    conditions = plan.get("status", {}).get("conditions", ())
    return any(each["type"] == "Evicting" for each in conditions) and bool(plan["spec"].get("victims"))


async def _map(tab: Tab, plane: ControlPlane) -> None:
    await show(tab, "#/map?resource=cpu&as=table")
    await tab.page.get_by_role("table", name="Nodes").wait_for()
    printed, shown = await _panel(tab, plane, tab.page.locator(".map-picture"))
    stored, names, parts = json.loads(printed)["items"], shown["nodes"]["name"], shown["parts"]
    assert sorted(each["metadata"]["name"] for each in stored if each["kind"] == "Node") == sorted(names)
    bound = Counter(node for each in stored if (node := _runs_on(each)))
    found = Counter[str]()
    for place, pods in zip(parts["node"], parts["pods"], strict=True):
        found[names[place]] += pods
    assert found == bound


def _runs_on(item: Any) -> str:
    """The node of a pod that has not ended; empty for anything else."""
    has_ended = item.get("status", {}).get("phase") in ("Succeeded", "Failed")
    return "" if item["kind"] != "Pod" or has_ended else item["spec"].get("nodeName", "")


async def _node(tab: Tab, plane: ControlPlane, node: str) -> None:
    await show(tab, f"#/map?resource=cpu&node={node}")
    printed, shown = await _panel(tab, plane, tab.page.locator(".node-panel"))
    table = printed.partition(PODS_OF_NODE)[2].partition(AFTER_PODS)[0].splitlines()
    # A line says how many there are, then come the head and a rule.
    pods = sorted(tuple(line.split()[:2]) for line in table[3:])
    assert pods
    assert pods == sorted((each["namespace"], each["name"]) for each in shown["pods"])


def _name(item: Any) -> tuple[str, str]:
    return item["metadata"]["namespace"], item["metadata"]["name"]
