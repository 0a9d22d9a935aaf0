"""What `reprieve doctor` can find: its names, and what helps. docs/doctor.md has the same names and remedies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

__all__ = ["FAULTS", "Fault", "Finding", "Findings", "Level", "fault", "note", "well"]

Level = Literal["OK", "Note", "Warning", "Error"]
"""Warnings and errors are faults. A note is a state that may be wanted."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault."""

    level: Literal["Warning", "Error"]
    remedy: str
    command: str = ""
    """Does it, or shows what the remedy says to look at; empty if no command does that by itself."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check says."""

    check: str
    level: Level
    message: str
    fault: str = ""
    """The name of the fault in FAULTS; empty for none."""

    @property
    def remedy(self) -> str:
        """What helps; empty if nothing is wrong."""
        return FAULTS[self.fault].remedy if self.fault else ""

    @property
    def command(self) -> str:
        """See `Fault`."""
        return FAULTS[self.fault].command if self.fault else ""

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "check": self.check,
            "level": self.level,
            "message": self.message,
            "fault": self.fault or None,
            "remedy": self.remedy or None,
            "command": self.command or None,
        }


@dataclass(frozen=True, slots=True)
class Findings:
    """The answer."""

    found: tuple[Finding, ...]
    enforced: Mapping[str, Any] | None = None
    """What Enforce would do at once, for programs. None: nobody has asked."""

    @property
    def faulty(self) -> bool:
        """Whether anything is wrong."""
        return any(each.fault for each in self.found)

    def plain(self) -> dict[str, Any]:
        """For programs."""
        found = [each.plain() for each in self.found]
        return {"findings": found} if self.enforced is None else {"findings": found, "atOnce": self.enforced}


DEFINE: Final = "kubectl apply --server-side -k manifests/crds"
INSTALL: Final = "kubectl apply --server-side --force-conflicts -k manifests/install"
LOGS: Final = "kubectl -n reprieve-system logs deployment/reprieve"
CLUSTERS: Final = "kubectl get multikueueclusters"

FAULTS: Final[dict[str, Fault]] = {
    "DefinitionMissing": Fault("Error", "Apply manifests/crds.", DEFINE),
    "DefinitionNotServed": Fault("Error", "Apply manifests/crds of the version that runs.", DEFINE),
    "DefinitionOlder": Fault("Warning", "Apply manifests/crds of the version that runs.", DEFINE),
    "NotInstalled": Fault("Error", "Install reprieve as docs/install.md says.", INSTALL),
    "NobodyLeads": Fault("Error", "Look at the pods of the Deployment reprieve and at their logs.", LOGS),
    "PauseEndUnreadable": Fault(
        "Warning",
        "Write an RFC 3339 time to the annotation reprieve.dev/paused-until, or end the pause with reprieve resume.",
    ),
    "HeldWithoutRights": Fault(
        "Error",
        "Grant the rights until nothing is held any longer, or call reprieve release --held.",
        "reprieve release --held --dry-run",
    ),
    "SchedulerDoesNotCall": Fault(
        "Error", "Add both extender entries to the configuration of the scheduler."
    ),
    "NotEveryNodeIsOffered": Fault("Error", "Set percentageOfNodesToScore to 100 in that configuration."),
    "SchedulerConfigurationWrong": Fault("Error", "Correct the field that the message names."),
    "SchedulerNotSupported": Fault(
        "Error", "Use a kube-scheduler of version 1.34 or newer.", "kubectl version"
    ),
    "NativeGangsWaitLong": Fault(
        "Warning", "Lower podMaxBackoffSeconds of that kube-scheduler, or set planning.gates to UntilPlanned."
    ),
    "CertificateExpired": Fault("Error", "Renew the certificate as docs/webhooks.md says."),
    "CertificateEndsSoon": Fault("Warning", "Renew the certificate as docs/webhooks.md says."),
    "CertificateUnreadable": Fault(
        "Error", "Write the CA's certificate to caBundle as docs/webhooks.md says."
    ),
    "PreemptIgnorable": Fault("Error", "Use manifests/components/enforce/kube-scheduler.yaml."),
    "PreemptNotIgnorable": Fault("Warning", "Use manifests/components/extender/kube-scheduler.yaml."),
    "ComponentMissing": Fault("Error", "Add that component to manifests/install, and apply it.", INSTALL),
    "WebhookGatesForNobody": Fault(
        "Warning", "Delete manifests/webhooks, or set planning.gates to Off in the settings of the webhooks."
    ),
    "RightsMissing": Fault(
        "Error", "Apply manifests/install again. For Enforce it needs components/rights.", INSTALL
    ),
    "WebhookDown": Fault(
        "Error",
        "Look at the pods behind that Service and at their logs.",
        "kubectl -n reprieve-system get pods",
    ),
    "NothingEnforced": Fault(
        "Warning",
        "Label the namespaces that reprieve may act in, or correct planning.enforcedNamespaceSelector.",
        "kubectl get namespaces --show-labels",
    ),
    "WebhookSelectsOthers": Fault(
        "Warning",
        "Give the webhook's namespaceSelector the requirements of planning.enforcedNamespaceSelector, as docs/modes.md "
        "says.",
    ),
    "PlansOld": Fault("Warning", "Look at the logs of the leader: it does not end these plans.", LOGS),
    "PlansExpired": Fault(
        "Warning",
        "Look at the messages of these plans, and at those of the pods they are for.",
        "kubectl get preemptionplans -A",
    ),
    "JobsFailForGood": Fault(
        "Warning", "Give these Jobs a podFailurePolicy that ignores the pod condition DisruptionTarget."
    ),
    "SchedulerUnknown": Fault(
        "Warning",
        "Correct spec.schedulerName of these pods, or start that scheduler.",
        "kubectl get pods -A --field-selector=spec.nodeName=",
    ),
    "TwoManageQuota": Fault(
        "Error", "Remove Kueue's controller, or set quota.mode of reprieve to Observe or Off."
    ),
    "ClusterInactive": Fault("Error", "Do what docs/multikueue.md says about this reason.", CLUSTERS),
    "OriginTaken": Fault(
        "Error", "Give each manager of that worker cluster a multikueue.origin of its own.", CLUSTERS
    ),
    "ClusterNotWatched": Fault(
        "Error",
        "Set the section multikueue of the Configuration of reprieve, or start Kueue's manager.",
        CLUSTERS,
    ),
    "GatesNotHonoured": Fault(
        "Warning", "Turn the feature gate MultiKueueOrchestratedPreemption on in the Kueue of that cluster."
    ),
    "ClusterCheckInactive": Fault(
        "Error", "Correct the MultiKueueConfig or the clusters that the message names."
    ),
    "ManagerRightsMissing": Fault(
        "Error", "Apply manifests/multikueue.", "kubectl apply --server-side -k manifests/multikueue"
    ),
    "ClusterGone": Fault(
        "Warning",
        "Create that MultiKueueCluster again, or delete what is left there as docs/leaving.md says.",
        CLUSTERS,
    ),
    "TurnsOld": Fault(
        "Warning", "Look at the logs of the leader: it does not end these DispatchPlans.", LOGS
    ),
}
"""By name."""


def well(check: str, message: str) -> Finding:
    """The check finds nothing wrong."""
    return Finding(check, "OK", message)


def note(check: str, message: str) -> Finding:
    """A state that may be wanted."""
    return Finding(check, "Note", message)


def fault(check: str, name: str, message: str) -> Finding:
    """Something is wrong. `name`: one of FAULTS."""
    return Finding(check, FAULTS[name].level, message, name)
