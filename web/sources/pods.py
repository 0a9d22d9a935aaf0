"""The pods without a node, whole: the tables keep columns, and a list of what waits needs the scheduler's words."""

from __future__ import annotations

from collections.abc import Mapping

from api.core import Pod
from nodes.state.pods.pods import ENDED

__all__ = ["WaitingPods"]


class WaitingPods:
    """A store behind the view of pods (`runtime.mirror.view.Store`)."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, Pod]] = {}
        """By namespace and name."""
        self._shared: dict[str, Mapping[str, Pod]] = {}
        """Copies that moments have, by namespace, as long as nothing has changed."""

    def shared(self) -> Mapping[str, Mapping[str, Pod]]:
        """The pods by namespace and name. Later events do not change them."""
        for namespace, pods in self._pods.items():
            if namespace not in self._shared:
                self._shared[namespace] = dict(pods)
        return dict(self._shared)

    def upsert(self, item: Pod) -> bool:
        """See `Store`."""
        meta = item.metadata
        if item.spec.node_name or item.status.phase in ENDED:
            return self.delete(meta.namespace, meta.name)
        self._pods.setdefault(meta.namespace, {})[meta.name] = item
        self._shared.pop(meta.namespace, None)
        return True

    def delete(self, namespace: str, name: str) -> bool:
        """See `Store`."""
        pods = self._pods.get(namespace)
        if pods is None or pods.pop(name, None) is None:
            return False
        self._shared.pop(namespace, None)
        if not pods:
            del self._pods[namespace]
        return True
