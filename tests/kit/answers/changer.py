"""Changes a followed cluster at random."""

from __future__ import annotations

import copy
from random import Random
from typing import Any, Final

from tests.kit.followed import Followed

__all__ = ["Changer"]

Object = dict[str, Any]
CHANGED: Final = ("Pod", "Node", "PodGroup", "PreemptionPlan")


class Changer:
    """Changes a cluster, one object at a time."""

    def __init__(self, followed: Followed, random: Random) -> None:
        self._followed, self._random = followed, random
        self._there = {
            (each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each
            for each in followed.objects
            if each["kind"] in CHANGED
        }
        self._gone: list[Object] = []

    def change(self) -> None:
        """Something comes, goes, or is another one."""
        chance, random = self._random.random(), self._random
        if self._gone and chance < 0.25:
            self._put(self._gone.pop(random.randrange(len(self._gone))))
        elif chance < 0.45 and self._there:
            item = self._there.pop(random.choice(sorted(self._there)))
            self._gone.append(item)
            self._followed.drop(item)
        elif self._there:
            item = copy.deepcopy(self._there[random.choice(sorted(self._there))])
            getattr(self, f"_change_{item['kind'].lower()}")(item)
            self._put(item)

    def _put(self, item: Object) -> None:
        key = item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]
        self._there[key] = item
        self._followed.put(item)

    def _change_pod(self, pod: Object) -> None:
        what = self._random.randrange(4)
        if what == 0 and not pod["spec"].get("nodeName"):
            pod["spec"]["nodeName"] = self._random.choice(("n0", "n1", "n2", "new"))
        elif what == 1:
            pod["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:10Z"
        elif what == 2:
            pod["status"] = {**(pod.get("status") or {}), "phase": "Succeeded"}
        else:
            pod["metadata"]["labels"] = {}

    def _change_node(self, node: Object) -> None:
        if self._random.random() < 0.3:
            node["metadata"] = {**node["metadata"], "name": "new", "uid": "uid-new"}
        labels = node["metadata"].get("labels") or {}
        if self._random.random() < 0.6:
            labels = {**labels, "rack": self._random.choice(("r1", "r2", "r10"))}
        else:
            labels = {key: value for key, value in labels.items() if key != "rack"}
        node["metadata"]["labels"] = labels
        amounts = {**node["status"]["allocatable"]}
        if self._random.random() < 0.5:
            amounts["cpu"] = str(self._random.randint(0, 9))
            amounts["example.com/gpu"] = str(self._random.randint(0, 2))
        node["status"] = {"allocatable": amounts}

    def _change_podgroup(self, group: Object) -> None:
        key = self._random.choice(("rack", "zone"))
        group["spec"]["schedulingConstraints"] = {"topology": [{"key": key}]}

    def _change_preemptionplan(self, plan: Object) -> None:
        if plan.get("status"):
            plan["status"]["phase"] = self._random.choice(("Evicting", "Ready", "Bound", "Aborted"))
