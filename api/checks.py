"""Kueue's admission checks (`kueue.x-k8s.io/v1beta2`): AdmissionCheck, and MultiKueue's configuration and clusters.

Fields, defaults, enums and bounds are the same as in Kueue's CRDs. Rules across fields (CEL, webhook) are not here.
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
"""A kind in upper or lower case. The two special letters match s and k in Go's case-insensitive patterns."""


class AdmissionCheckParametersReference(Struct):
    """An object with parameters for the check's controller."""

    api_group: Annotated[Name, Meta(min_length=1)]
    """The API group of the object."""
    kind: Annotated[str, Meta(min_length=1, max_length=63, pattern=KIND)]
    """The kind of the object."""
    name: Annotated[str, Meta(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
    """The name of the object."""


class AdmissionCheckSpec(Struct):
    """The controller of the check, and its parameters."""

    controller_name: Annotated[str, Meta(min_length=1, max_length=253)]
    """The controller that makes the check. It is not the name of a pod or Deployment. Cannot be changed."""
    parameters: AdmissionCheckParametersReference | None = None
    """An object with parameters for the controller."""


class AdmissionCheckStatus(Struct):
    """Whether the check can be made."""

    conditions: Conditions | None = None
    """Active: whether the controller is ready to make the check, and why not."""


class AdmissionCheck(Struct, kw_only=True):
    """A check that a Workload with reserved quota must pass before it is admitted."""

    # Factories: a plain default would be left out, and the API server needs both.
    api_version: str = field(default_factory=lambda: API_VERSION)
    kind: Literal["AdmissionCheck"] = field(default_factory=lambda: "AdmissionCheck")
    metadata: ObjectMeta
    spec: AdmissionCheckSpec | None = None
    status: AdmissionCheckStatus | None = None


class MultiKueueConfigSpec(Struct):
    """The clusters that workloads may go to."""

    clusters: Annotated[list[ClusterName], Meta(min_length=1, max_length=20)]
    """The names of the MultiKueueClusters. Each occurs once. Their order decides where nothing else does."""
    quota_management: Literal["Manual", "Automated"] | None = None
    """Whether the quotas of the manager's ClusterQueues follow those of the clusters. reprieve does not do this: with
    Automated, the AdmissionCheck is not active. The default is Manual."""


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
    """The name of a Secret in the controller's namespace with the key kubeconfig, or the path of a file."""
    location_type: OrDefault[Literal["Secret", "Path"]] = "Secret"
    """The type of the location: a Secret, or a path."""


class ClusterProfileReference(Struct):
    """A ClusterProfile."""

    name: Annotated[str, Meta(min_length=1, max_length=256)]
    """The name of the ClusterProfile."""


class ClusterSource(Struct):
    """How to reach a cluster. Exactly one of `kubeConfig` and `clusterProfileRef` must be set."""

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
