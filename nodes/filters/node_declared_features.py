"""NodeDeclaredFeatures: a node lists the features that some pods need (`status.declaredFeatures`).

Source: the features of k8s.io/component-helpers/nodedeclaredfeatures whose InferForScheduling can be true, in 1.37. No
feature has a version from which on every node has it.
"""

from __future__ import annotations

from typing import ClassVar, Final

from api.core import Pod
from nodes.filters.filter import NodeShape, StaticFilter

__all__ = ["NodeDeclaredFeatures"]

REASON: Final = "node(s) didn't match Pod's required features"


class NodeDeclaredFeatures(StaticFilter[tuple[str, ...]]):
    """Needs: the names of the features."""

    name: ClassVar[str] = "NodeDeclaredFeatures"

    def needs(self, pod: Pod) -> tuple[str, ...] | None:
        """The features that the pod needs; None for most pods."""
        spec, found = pod.spec, []
        containers = [*(spec.containers or ()), *(spec.init_containers or ())]
        rules = (rule for each in containers for rule in each.restart_policy_rules or ())
        if any(rule.action == "RestartAllContainers" for rule in rules):
            found.append("RestartAllContainersOnContainerExits")
        if spec.host_network and spec.host_users is False:
            found.append("UserNamespacesHostNetworkSupport")
        if any(mount.bind_mount_options for each in containers for mount in each.volume_mounts or ()):
            found.append("VolumeBindMountOptions")
        return tuple(found) or None

    def refusal(self, needs: tuple[str, ...], node: NodeShape, node_name: str) -> str | None:
        """Refuse a node that does not list one of the features."""
        return None if node.declared_features.issuperset(needs) else REASON
