"""Pods that have got their quota, with what their admission adds to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from answers.what_if.claims import Claim
from nodes.groups.made_pods import MadePods
from quota.cycle.pod_set_infos import PodSetInfo

__all__ = ["Granted"]


@dataclass
class Granted:
    """The pods of admitted claims. Equal pods that get the same are together."""

    sets: list[MadePods] = field(default_factory=list)
    """Each pod set has a name of its own, by which `infos` knows it."""
    infos: dict[str, PodSetInfo] = field(default_factory=dict)

    def add(self, claim: Claim, infos: Iterable[PodSetInfo]) -> None:
        """The pods of one claim get this."""
        found = {each.name: each for each in infos}
        for pods in claim.sets:
            info = found.get(pods.pod_set)
            if info is not None:
                self._add(pods, info)

    def _add(self, pods: MadePods, info: PodSetInfo) -> None:
        count = min(pods.count, info.count)
        for at, known in enumerate(self.sets):
            its = self.infos[known.pod_set]
            if known.name == pods.name and replace(its, name=info.name, count=info.count) == info:
                self.sets[at] = replace(known, count=known.count + count)
                self.infos[known.pod_set] = replace(its, count=its.count + count)
                return
        name = pods.pod_set if pods.pod_set not in self.infos else f"{pods.pod_set}~{len(self.infos)}"
        self.sets.append(replace(pods, pod_set=name, count=count))
        self.infos[name] = replace(info, name=name, count=info.count)
