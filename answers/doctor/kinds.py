"""The kinds of the API server that only `reprieve doctor` reads, in part."""

from __future__ import annotations

from typing import Any

from msgspec import field

from api.core import Container, Pod, PodSpec
from api.meta import Condition, LabelSelector, ObjectMeta, Struct

__all__ = [
    "Binding",
    "ClusterRole",
    "ConfigMap",
    "Definition",
    "Deployment",
    "Rule",
    "SeenPod",
    "Slice",
    "Webhook",
    "Webhooks",
]


class Validation(Struct):
    """apiextensions CustomResourceValidation."""

    schema: dict[str, Any] | None = field(name="openAPIV3Schema", default=None)


class Version(Struct):
    """apiextensions CustomResourceDefinitionVersion."""

    name: str
    served: bool = False
    schema: Validation | None = None


class DefinitionSpec(Struct):
    """apiextensions CustomResourceDefinitionSpec."""

    versions: list[Version] | None = None


class DefinitionStatus(Struct):
    """apiextensions CustomResourceDefinitionStatus."""

    conditions: list[Condition] | None = None


class Definition(Struct, kw_only=True):
    """apiextensions CustomResourceDefinition."""

    metadata: ObjectMeta
    spec: DefinitionSpec
    status: DefinitionStatus | None = None


class ServiceReference(Struct):
    """admissionregistration ServiceReference."""

    namespace: str
    name: str


class ClientConfig(Struct):
    """admissionregistration WebhookClientConfig. `ca_bundle`: PEM certificates, in base64."""

    url: str | None = None
    service: ServiceReference | None = None
    ca_bundle: str | None = None


class Webhook(Struct):
    """admissionregistration MutatingWebhook, or ValidatingWebhook."""

    name: str
    client_config: ClientConfig
    namespace_selector: LabelSelector | None = None


class Webhooks(Struct, kw_only=True):
    """admissionregistration MutatingWebhookConfiguration, or ValidatingWebhookConfiguration."""

    kind: str = ""
    metadata: ObjectMeta
    webhooks: list[Webhook] | None = None


class EndpointConditions(Struct):
    """discovery EndpointConditions. Null means ready."""

    ready: bool | None = None


class Endpoint(Struct):
    """discovery Endpoint."""

    conditions: EndpointConditions | None = None


class Slice(Struct, kw_only=True):
    """discovery EndpointSlice."""

    metadata: ObjectMeta
    endpoints: list[Endpoint] | None = None


class Program(Container):
    """core/v1 Container, with what it runs."""

    image: str = ""
    command: list[str] | None = None
    args: list[str] | None = None


class ConfigMapVolume(Struct):
    """core/v1 ConfigMapVolumeSource."""

    name: str = ""


class Volume(Struct):
    """core/v1 Volume, if it is a ConfigMap."""

    name: str
    config_map: ConfigMapVolume | None = None


class ProgramSpec(Struct):
    """core/v1 PodSpec: what runs, and with which files."""

    containers: list[Program] | None = None
    volumes: list[Volume] | None = None


class Template(Struct):
    """core/v1 PodTemplateSpec."""

    spec: ProgramSpec


class DeploymentSpec(Struct):
    """apps/v1 DeploymentSpec."""

    template: Template
    replicas: int | None = None


class DeploymentStatus(Struct):
    """apps/v1 DeploymentStatus."""

    ready_replicas: int = 0


class Deployment(Struct, kw_only=True):
    """apps/v1 Deployment."""

    metadata: ObjectMeta
    spec: DeploymentSpec
    status: DeploymentStatus | None = None


class SeenPodSpec(PodSpec):
    """core/v1 PodSpec, with what runs."""

    containers: list[Program] | None = None  # type: ignore[assignment]  # nobody appends a Container


class SeenPod(Pod):
    """core/v1 Pod, with what runs."""

    spec: SeenPodSpec


class Rule(Struct):
    """rbac PolicyRule."""

    verbs: list[str]
    api_groups: list[str] | None = None
    resources: list[str] | None = None
    resource_names: list[str] | None = None


class ClusterRole(Struct, kw_only=True):
    """rbac ClusterRole."""

    metadata: ObjectMeta
    rules: list[Rule] | None = None


class Subject(Struct):
    """rbac Subject."""

    kind: str
    name: str
    namespace: str = ""


class RoleRef(Struct):
    """rbac RoleRef."""

    kind: str
    name: str


class Binding(Struct, kw_only=True):
    """rbac ClusterRoleBinding."""

    metadata: ObjectMeta
    role_ref: RoleRef
    subjects: list[Subject] | None = None


class ConfigMap(Struct, kw_only=True):
    """core/v1 ConfigMap."""

    metadata: ObjectMeta
    data: dict[str, str] | None = None
