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
    """Each pod set has a name of its own, by which `infos` knows it. The names of pods differ, too."""
    infos: dict[str, PodSetInfo] = field(default_factory=dict)
    _names: list[str] = field(default_factory=list)
    """What the pods of each of the sets were called."""

    def add(self, claim: Claim, infos: Iterable[PodSetInfo]) -> None:
        """The pods of one claim get this."""
        found = {each.name: each for each in infos}
        for pods in claim.sets:
            info = found.get(pods.pod_set)
            if info is not None:
                self._add(pods, info)

    def _add(self, pods: MadePods, info: PodSetInfo) -> None:
        for at, known in enumerate(self.sets):
            its = self.infos[known.pod_set]
            if self._names[at] == pods.name and replace(its, name=info.name, count=info.count) == info:
                self.sets[at] = replace(known, count=known.count + pods.count)
                self.infos[known.pod_set] = replace(its, count=its.count + info.count)
                return
        number = len(self.sets)
        name = f"{pods.name}-{number}" if pods.name in self._names else pods.name
        pod_set = f"{pods.pod_set}-{number}" if pods.pod_set in self.infos else pods.pod_set
        self.sets.append(replace(pods, name=name, pod_set=pod_set))
        self.infos[pod_set] = replace(info, name=pod_set)
        self._names.append(pods.name)
