"""The manager's part of the Configuration file."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Final, Literal

from msgspec import Meta, field

from api.multikueue import MANAGER_NAMESPACE
from api.validation import FieldError
from serving.sections import FilePath, Seconds, Section

__all__ = ["MultiKueueConfiguration", "check_multikueue"]

LABEL: Final = r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)$"
Timeout = Annotated[float, Meta(ge=1, le=86400)]


class MultiKueueConfiguration(Section):
    """The manager of several clusters. It needs quota.mode Enforce.

    origin: names this manager in the label of its copies. Two managers of the same worker cluster need two names.
    gcIntervalSeconds: between two looks for copies that belong to no present attempt. workerLostTimeoutSeconds: a
    cluster that is silent for this time counts as lost, and its Workloads get another cluster. order:
    LeastDisruption: the gate opens first where the preemption costs least. FirstComeFirstServed: where the signal was
    seen first. nonPreemptingWindowSeconds: how long the first gate waits for a cluster that needs no preemption; 0: not
    at all. singleClusterPreemptionTimeoutSeconds: how long one cluster's gate stays open before the next one opens.
    planRetentionSeconds: how long DispatchPlans stay after their attempt.
    giveUpSeconds: a Workload that no cluster takes for this time gives its quota back; null: it never does.
    namespace: of the Secrets with kubeconfigs. folder: of kubeconfig files; null: no cluster can name a file.
    allowedNetworks: loopback, link-local and metadata addresses that requests may go to, such as 127.0.0.0/8.
    """

    origin: Annotated[str, Meta(min_length=1, max_length=63, pattern=LABEL)] = "multikueue"
    gc_interval_seconds: Seconds = 60
    worker_lost_timeout_seconds: Seconds = 900
    order: Literal["LeastDisruption", "FirstComeFirstServed"] = "LeastDisruption"
    non_preempting_window_seconds: Annotated[float, Meta(ge=0, le=86400)] = 5
    single_cluster_preemption_timeout_seconds: Timeout = 300
    give_up_seconds: Seconds | None = None
    plan_retention_seconds: Seconds = 86400
    namespace: Annotated[str, Meta(min_length=1)] = MANAGER_NAMESPACE
    folder: FilePath | None = None
    allowed_networks: list[str] = field(default_factory=list)


def check_multikueue(settings: MultiKueueConfiguration, *, quota_mode: str) -> None:
    """Raises FieldError for settings that do not go together."""
    if quota_mode != "Enforce":
        raise FieldError("multikueue", f"needs quota.mode Enforce, which is {quota_mode}")
    for at, network in enumerate(settings.allowed_networks):
        try:
            ipaddress.ip_network(network)
        except ValueError as error:
            raise FieldError(f"multikueue.allowedNetworks[{at}]", str(error)) from None
