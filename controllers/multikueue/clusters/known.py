"""The objects here that say which worker clusters there are, as every process follows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from api.checks import AdmissionCheck, MultiKueueCluster, MultiKueueConfig
from api.multikueue import CONTROLLER_NAME
from controllers.multikueue.clusters.sources import KubeconfigSecret, secrets_of
from runtime.mirror.changes import Changes
from runtime.mirror.objects import Objects
from runtime.mirror.resources import ADMISSION_CHECKS, MULTIKUEUE_CLUSTERS, MULTIKUEUE_CONFIGS
from runtime.mirror.views import View, Views

__all__ = ["CHECK", "CLUSTER", "CONFIG", "SECRET", "Known"]

CHECK: Final = AdmissionCheck.__name__
CLUSTER: Final = MultiKueueCluster.__name__
CONFIG: Final = MultiKueueConfig.__name__
SECRET: Final = KubeconfigSecret.__name__


class Known:
    """AdmissionChecks, MultiKueueConfigs, MultiKueueClusters, and the Secrets with kubeconfigs."""

    def __init__(self, namespace: str, views: Views) -> None:
        """`namespace`: of the Secrets. Call it before the views run."""
        self.checks: Objects[AdmissionCheck] = Objects()
        self.configs: Objects[MultiKueueConfig] = Objects()
        self.clusters: Objects[MultiKueueCluster] = Objects()
        self.secrets: Objects[KubeconfigSecret] = Objects()
        self.changes = Changes()
        """Of all of them, by kind (see the constants) and key."""
        secrets = secrets_of(namespace)
        self.views: tuple[View[Any], ...] = (
            views.watch(ADMISSION_CHECKS, self.checks),
            views.watch(MULTIKUEUE_CONFIGS, self.configs),
            views.watch(MULTIKUEUE_CLUSTERS, self.clusters),
            views.watch(secrets, self.secrets),
        )
        self.changes.follow(views, ADMISSION_CHECKS)
        self.changes.follow(views, MULTIKUEUE_CONFIGS)
        self.changes.follow(views, MULTIKUEUE_CLUSTERS)
        self.changes.follow(views, secrets)

    def check(self, name: str) -> AdmissionCheck | None:
        """The AdmissionCheck of that name, if its controller is a manager of several clusters."""
        check = self.checks.get("", name)
        if check is None or check.spec is None or check.spec.controller_name != CONTROLLER_NAME:
            return None
        return check

    def our_checks(self) -> Iterator[str]:
        """The names of all such AdmissionChecks."""
        for each in self.checks:
            if self.check(each.metadata.name) is not None:
                yield each.metadata.name
