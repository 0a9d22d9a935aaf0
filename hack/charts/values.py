"""The values of the charts. Their schemas are made of these structs. The defaults are those in values.yaml."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, field

from controllers.gangs.configuration import LimitsConfiguration
from controllers.gangs.lifecycle.modes import Mode
from controllers.quota.configuration import QuotaMode
from serving.namespaces import NamespaceSelector
from serving.sections import Count, Section

__all__ = ["CrdValues", "Values"]

Object = dict[str, Any]
"""A part of a Pod's spec. The API server checks it."""
Name = Annotated[str, Meta(min_length=1)]


class ImageValues(Section):
    """An image, as nodes can pull it.

    tag: empty: the version of the chart. digest: sha256:...; it counts instead of the tag.
    """

    repository: Name = "reprieve"
    tag: str = ""
    digest: Annotated[str, Meta(pattern="^(sha256:[0-9a-f]{64})?$")] = ""
    pull_policy: Literal["", "Always", "IfNotPresent", "Never"] = ""


class PullSecret(Section):
    """The name of a Secret with which nodes pull the images."""

    name: Name


class PlacementValues(Section):
    """On which nodes pods run. Each field is that of a Pod's spec."""

    node_selector: dict[str, str] = field(default_factory=dict)
    tolerations: list[Object] = field(default_factory=list)
    affinity: Object = field(default_factory=dict)
    topology_spread_constraints: list[Object] = field(default_factory=list)
    priority_class_name: str = ""


class ProcessValues(Section):
    """What the pods of a Deployment get."""

    resources: Object = field(default_factory=dict)
    placement: PlacementValues = field(default_factory=PlacementValues)


class SchedulerValues(ProcessValues):
    """Which kube-scheduler calls reprieve.

    entries: None: nobody calls. Cluster: the administrator lets the cluster's own scheduler call; NOTES.txt says how.
    Second: the chart deploys a second scheduler, which calls. image: of the second scheduler.
    """

    entries: Literal["None", "Cluster", "Second"] = "None"
    image: ImageValues = field(default_factory=lambda: ImageValues(repository="kube-scheduler"))


class KueueValues(Section):
    """installed: whether Kueue is in the cluster."""

    installed: bool = False


class MultiKueueValues(Section):
    """Several clusters.

    manager: this cluster sends Workloads to others. worker: this cluster gets Workloads of a manager. Both need the
    namespace reprieve-multikueue, which the chart does not make.
    """

    manager: bool = False
    worker: bool = False


class PageValues(ProcessValues):
    """The page on which people see why gangs wait.

    configuration: settings of its process.
    """

    enabled: bool = False
    configuration: Object = field(default_factory=dict)


class WebhooksValues(ProcessValues):
    """The admission server, which runs where the mode is Enforce.

    configuration: settings of its process. It has those of `configuration` about gates, native groups and jobs, too.
    """

    replicas: Count = 2
    configuration: Object = field(default_factory=dict)


class MonitoringValues(Section):
    """For a cluster with the Prometheus operator.

    monitor: which kind says who is scraped. rules: alerts. dashboard: a ConfigMap for Grafana.
    """

    monitor: Literal["None", "PodMonitor", "ServiceMonitor"] = "None"
    rules: bool = False
    dashboard: bool = False


class Values(ProcessValues):
    """The values of the chart `reprieve`. values.yaml says what each of them does."""

    mode: Mode = "Observe"
    selector: NamespaceSelector = field(default_factory=NamespaceSelector)
    limits: LimitsConfiguration | None = None
    rights: Literal["Auto", "Observe", "Enforce"] = "Auto"
    scheduler: SchedulerValues = field(default_factory=SchedulerValues)
    quota: QuotaMode = "Off"
    kueue: KueueValues = field(default_factory=KueueValues)
    multikueue: MultiKueueValues = field(default_factory=MultiKueueValues)
    page: PageValues = field(default_factory=PageValues)
    certificates: Literal["Secret", "CertManager"] = "Secret"
    monitoring: MonitoringValues = field(default_factory=MonitoringValues)
    image: ImageValues = field(default_factory=ImageValues)
    image_pull_secrets: list[PullSecret] = field(default_factory=list)
    replicas: Count = 2
    webhooks: WebhooksValues = field(default_factory=WebhooksValues)
    extra_volumes: list[Object] = field(default_factory=list)
    extra_volume_mounts: list[Object] = field(default_factory=list)
    configuration: Object = field(default_factory=dict)
    global_: Annotated[Object, Meta(description="Helm's own, for a chart that has this one as a part.")] = (
        field(name="global", default_factory=dict)
    )


class CrdValues(Section):
    """The values of the chart `reprieve-crds`.

    kueue: Kueue's kinds, too, for a cluster without Kueue.
    """

    kueue: bool = False
    global_: Object = field(name="global", default_factory=dict)
