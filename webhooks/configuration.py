"""The webhooks' part of the Configuration file."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from api.validation import FieldError
from controllers.gangs.configuration import PlanningConfiguration
from controllers.jobs.configuration import JobsConfiguration
from serving.sections import Count, FilePath, GuardedListener, Poll, Port, Seconds, Section
from webhooks.settings import QueueSettings, Settings

__all__ = [
    "CertificatesConfiguration",
    "FilesConfiguration",
    "ManagedConfiguration",
    "WebhooksConfiguration",
    "check_webhooks",
    "settings_of",
]

Life = Annotated[float, Meta(ge=1, le=20 * 365 * 86400)]
Name = Annotated[str, Meta(min_length=1, max_length=253)]


class ManagedConfiguration(Section, kw_only=True):
    """Certificates that the server makes itself. Their authority is in a Secret that all replicas share.

    hosts: names on the certificate; the API server calls <service>.<namespace>.svc.
    authoritySeconds, certificateSeconds: lives; each is renewed at two thirds of it.
    overlapSeconds: how long an authority is trusted before it signs.
    validatingWebhookConfigurations, mutatingWebhookConfigurations: their caBundles are kept up to date.
    """

    namespace: Name = "reprieve-system"
    secret_name: Name = "reprieve-webhooks-ca"  # noqa: S105 - the name of a Secret, not its content
    hosts: Annotated[list[Name], Meta(min_length=1)] = field(
        default_factory=lambda: [
            "reprieve-webhooks.reprieve-system.svc",
            "reprieve-webhooks.reprieve-system.svc.cluster.local",
        ]
    )
    authority_seconds: Life = 365 * 86400
    certificate_seconds: Life = 7 * 86400
    overlap_seconds: Life = 600
    validating_webhook_configurations: list[Name] = field(
        default_factory=lambda: ["reprieve", "reprieve-queues"]
    )
    mutating_webhook_configurations: list[Name] = field(
        default_factory=lambda: ["reprieve", "reprieve-queues"]
    )


class FilesConfiguration(Section, kw_only=True):
    """Certificates that another program renews, such as cert-manager. The PEM files are read again when they change."""

    cert_file: FilePath
    key_file: FilePath


class CertificatesConfiguration(Section, kw_only=True):
    """The source of the serving certificate: `files` if they are set, otherwise the server makes it."""

    files: FilesConfiguration | None = None
    managed: ManagedConfiguration = field(default_factory=ManagedConfiguration)
    poll_seconds: Poll = 10
    """The time between two looks at files, Secret and clock."""


class WebhooksConfiguration(GuardedListener, kw_only=True):
    """The listener that API servers call.

    maxDepth: the deepest nesting that the JSON of a review may have.
    clientCAFile, clientNames: only clients with a certificate of this CA are answered. If clientNames is not empty, the
    certificate must have one of these common names. API servers get such a certificate from the file of their flag
    --admission-control-config-file.
    gateOpeners: by preemption gate, the users that may open it. For other gates RBAC alone decides.
    systemNamespaces: namespaces besides kube-system whose PodGroups may have a system PriorityClass.
    recheckSeconds: the time between two checks of all stored objects. They find objects that no webhook has seen.
    besideKueue: Kueue itself is installed, so only what Kueue lacks is checked.
    queues: Jobs and PodGroups in queues are completed and checked, as the section `jobs` says. It goes with quota.mode
    Enforce, and needs the rights in manifests/quota.
    """

    port: Port = 9444
    max_body_bytes: Count = 7 * 1024 * 1024
    max_depth: Count = 100
    certificates: CertificatesConfiguration = field(default_factory=CertificatesConfiguration)
    client_ca_file: FilePath | None = field(name="clientCAFile", default=None)
    client_names: list[Name] = field(default_factory=list)
    gate_openers: dict[str, list[str]] = field(default_factory=dict)
    system_namespaces: list[str] = field(default_factory=list)
    recheck_seconds: Seconds = 600
    beside_kueue: bool = False
    queues: bool = False


def settings_of(
    configuration: WebhooksConfiguration, jobs: JobsConfiguration, planning: PlanningConfiguration
) -> Settings:
    """The settings of the rules, which read of `planning` who gets a scheduling gate.

    A process that only observes would not remove it again.
    """
    selector = planning.enforced_namespace_selector
    gates_members = planning.gates != "Off" and planning.mode != "Observe"
    return Settings(
        gates_members=gates_members,
        enforced=None if selector.is_empty else selector.selector,
        gates_native=gates_members and planning.native_groups != "Off",
        gate_openers={gate: tuple(users) for gate, users in configuration.gate_openers.items()},
        system_namespaces=tuple(configuration.system_namespaces),
        queues=_queue_settings(jobs) if configuration.queues else None,
        beside_kueue=configuration.beside_kueue,
    )


def _queue_settings(jobs: JobsConfiguration) -> QueueSettings:
    return QueueSettings(
        frameworks=frozenset(jobs.frameworks),
        without_queue_name=jobs.manage_jobs_without_queue_name,
        namespaces=jobs.managed_jobs_namespace_selector.selector,
    )


def check_webhooks(configuration: WebhooksConfiguration) -> None:
    """Raises FieldError for settings that contradict each other."""
    if configuration.client_names and configuration.client_ca_file is None:
        raise FieldError("webhooks.clientNames", "have no effect without webhooks.clientCAFile")
    if configuration.queues and configuration.beside_kueue:
        raise FieldError(
            "webhooks.queues", "cannot be true with webhooks.besideKueue: Kueue manages the queues"
        )
    managed = configuration.certificates.managed
    path = "webhooks.certificates.managed"
    if managed.certificate_seconds > managed.authority_seconds:
        raise FieldError(f"{path}.certificateSeconds", "is more than authoritySeconds")
    # A successor comes when a third of the life is left. It must sign before that is over.
    if managed.overlap_seconds + 2 * configuration.certificates.poll_seconds > managed.authority_seconds / 3:
        raise FieldError(
            f"{path}.overlapSeconds", "is more than a third of authoritySeconds, less two pollSeconds"
        )
