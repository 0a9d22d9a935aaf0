"""Kueue's admission checks (`kueue.x-k8s.io/v1beta2`): AdmissionCheck, and MultiKueue's configuration and clusters.

Fields, defaults, enums and bounds are those of Kueue's CRDs; what rules across fields say (CEL, webhook) is not here.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta, field

from api.kueue import API_VERSION
from api.meta import Conditions, Defaulting, Name, ObjectMeta, OrDefault, Struct

__all__ = [
    "AdmissionCheck",
    "AdmissionCheckParametersReference",
    "AdmissionCheckSpec",
    "AdmissionCheckStatus",
    "ClusterProfileReference",
    "ClusterSource",
    "KubeConfig",
    "MultiKueueCluster",
    "MultiKueueClusterSpec",
    "MultiKueueClusterStatus",
    "MultiKueueConfig",
    "MultiKueueConfigSpec",
]

ClusterName = Annotated[str, Meta(max_length=256)]
KIND: Final = "^[A-Za-z\u017f\u212a]([-A-Za-z0-9\u017f\u212a]*[A-Za-z0-9\u017f\u212a])?$"
"""Upper case and lower case, with the two letters that Go takes for s and k when it does not tell cases apart."""


class AdmissionCheckParametersReference(Struct):
    """An object with parameters for the check's controller."""

    api_group: Annotated[Name, Meta(min_length=1)]
    """Its API group."""
    kind: Annotated[str, Meta(min_length=1, max_length=63, pattern=KIND)]
    """Its kind."""
    name: Annotated[str, Meta(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
    """Its name."""


class AdmissionCheckSpec(Struct):
    """Who makes the check."""

    controller_name: Annotated[str, Meta(min_length=1, max_length=253)]
    """The controller that makes it; not the name of a pod or Deployment. Cannot be changed."""
    parameters: AdmissionCheckParametersReference | None = None
    """An object with parameters for the controller."""


class AdmissionCheckStatus(Struct):
    """Whether the check can be made."""

    conditions: Conditions | None = None
    """Active: whether the controller is ready to make it, and why not."""


class AdmissionCheck(Struct, kw_only=True):
    """What has to be met before a Workload with reserved quota is admitted."""

    # Factories: a plain default would be left out, and the API server needs both.
    api_version: str = field(default_factory=lambda: API_VERSION)
    kind: Literal["AdmissionCheck"] = field(default_factory=lambda: "AdmissionCheck")
    metadata: ObjectMeta
    spec: AdmissionCheckSpec | None = None
    status: AdmissionCheckStatus | None = None


class MultiKueueConfigSpec(Struct):
    """Where workloads may go."""

    clusters: Annotated[list[ClusterName], Meta(min_length=1, max_length=20)]
    """MultiKueueClusters."""


class MultiKueueConfig(Struct, kw_only=True):
    """Clusters that the workloads of a ClusterQueue may go to: parameters of an AdmissionCheck."""

    # Factories: see AdmissionCheck.
    api_version: str = field(default_factory=lambda: API_VERSION)
    kind: Literal["MultiKueueConfig"] = field(default_factory=lambda: "MultiKueueConfig")
    metadata: ObjectMeta
    spec: MultiKueueConfigSpec | None = None


class KubeConfig(Defaulting):
    """A kubeconfig."""

    location: Annotated[str, Meta(min_length=1, max_length=256)]
    """The Secret in the controller's own namespace, whose key is kubeconfig, or the path of a file."""
    location_type: OrDefault[Literal["Secret", "Path"]] = "Secret"
    """What location is."""


class ClusterProfileReference(Struct):
    """A ClusterProfile."""

    name: Annotated[str, Meta(min_length=1, max_length=256)]
    """Its name."""


class ClusterSource(Struct):
    """How to reach a cluster; exactly one of `kubeConfig` and `clusterProfileRef`."""

    kube_config: KubeConfig | None = None
    """A kubeconfig."""
    cluster_profile_ref: ClusterProfileReference | None = None
    """A ClusterProfile."""


class MultiKueueClusterSpec(Struct):
    """How to reach the cluster."""

    cluster_source: ClusterSource
    """How to reach the cluster."""


class MultiKueueClusterStatus(Struct):
    """Whether the cluster is reached."""

    conditions: Conditions | None = None
    """Active: whether there is a connection, and why not."""


class MultiKueueCluster(Struct, kw_only=True):
    """A cluster that workloads may go to."""

    # Factories: see AdmissionCheck.
    api_version: str = field(default_factory=lambda: API_VERSION)
    kind: Literal["MultiKueueCluster"] = field(default_factory=lambda: "MultiKueueCluster")
    metadata: ObjectMeta
    spec: MultiKueueClusterSpec | None = None
    status: MultiKueueClusterStatus | None = None
