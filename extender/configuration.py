"""The Configuration file: strict, every default printable, errors with the path of the field."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
import yaml
from msgspec import Meta, field

from api.groups import API_VERSION
from api.validation import FieldError, convert, join
from api.yaml import Json, YamlError, documents
from extender.decision import BUDGET

__all__ = [
    "Configuration",
    "ConfigurationError",
    "ExtenderConfiguration",
    "OpsConfiguration",
    "PlanningConfiguration",
    "TLSConfiguration",
    "dump",
    "load",
    "parse",
]

FEATURE_GATES: Final = {"WorkloadAwarePreemption": True}
"""Known gates and their defaults; the names are the KEPs'."""

Port = Annotated[int, Meta(ge=0, le=65535)]
"""0 lets the system choose."""
Count = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0, le=86400)]
FilePath = Annotated[str, Meta(min_length=1)]


class Section(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Base of every part of the file."""


class TLSConfiguration(Section):
    """Mutual TLS: our certificate, and the CA of those who may call. Paths of PEM files."""

    cert_file: FilePath
    key_file: FilePath
    client_ca_file: FilePath = field(name="clientCAFile")


class ExtenderConfiguration(Section):
    """The listener that kube-scheduler calls. Without `tls` it needs `plainHTTP` and a loopback address."""

    bind_address: str = "0.0.0.0"  # noqa: S104 - a Pod's address is not known beforehand, and callers need a certificate
    port: Port = 9443
    tls: TLSConfiguration | None = None
    plain_http: bool = field(name="plainHTTP", default=False)
    max_body_bytes: Count = 16 * 1024 * 1024
    read_timeout_seconds: Seconds = 2
    max_concurrent_requests: Count = 64


class OpsConfiguration(Section):
    """The listener for probes and metrics, plain HTTP."""

    bind_address: str = "0.0.0.0"  # noqa: S104 - the kubelet probes the Pod's address, which is not known beforehand
    port: Port = 9080


class PlanningConfiguration(Section):
    """What bounds planning.

    searchBudget: steps that one exact packing may take before its domain is given up (SearchBudgetExhausted).
    planDeadlineSeconds: a plan and its reservation end so long after it was committed.
    backoff*Seconds: between two plans for a gang that does not fit.
    maxWatchAgeSeconds: not ready when the API server has been silent for longer.
    """

    search_budget: Count = BUDGET
    plan_deadline_seconds: Seconds = 300
    backoff_initial_seconds: Seconds = 1
    backoff_max_seconds: Seconds = 60
    kept_plans_per_preemptor: Count = 3
    max_watch_age_seconds: Seconds = 150


class Configuration(Section):
    """The whole file. A null `kubeconfig` is the Pod's own service account."""

    api_version: Literal["reprieve.dev/v1alpha1"] = API_VERSION
    kind: Literal["Configuration"] = "Configuration"
    kubeconfig: FilePath | None = None
    extender: ExtenderConfiguration = field(default_factory=ExtenderConfiguration)
    ops: OpsConfiguration = field(default_factory=OpsConfiguration)
    planning: PlanningConfiguration = field(default_factory=PlanningConfiguration)
    feature_gates: dict[str, bool] = field(default_factory=FEATURE_GATES.copy)


class ConfigurationError(ValueError):
    """The file cannot be read, or a field (named by its path) is not as it must be."""


def load(path: Path) -> Configuration:
    """The configuration in that file. Raises ConfigurationError naming file and field."""
    try:
        return parse(path.read_text("utf-8-sig"))
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: is not UTF-8") from None
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from None


def parse(text: str) -> Configuration:
    """The configuration in that text, gates completed. Raises ConfigurationError naming the field."""
    try:
        found = [document for document in documents(text) if document is not None]
    except YamlError as error:
        raise ConfigurationError(str(error)) from None
    if len(found) != 1:
        raise ConfigurationError(f"expected one document, found {len(found)}")
    document = found[0]
    try:
        _check_type(document)
        configuration: Configuration = convert(document, Configuration)
        _check_gates(configuration.feature_gates)
        _check_extender(configuration.extender)
        _check_planning(configuration.planning)
    except FieldError as error:
        raise ConfigurationError(str(error)) from None
    return msgspec.structs.replace(configuration, feature_gates=FEATURE_GATES | configuration.feature_gates)


def dump(configuration: Configuration) -> str:
    """The configuration as YAML with every field, defaults included; `parse` reads it back."""
    plain: dict[str, Any] = msgspec.to_builtins(configuration)
    return yaml.dump(plain, Dumper=yaml.CSafeDumper, sort_keys=False, default_flow_style=False)


def _check_type(document: Json) -> None:
    for name in ("apiVersion", "kind"):
        if isinstance(document, dict) and name not in document:
            raise FieldError(name, "is missing")


def _check_gates(gates: dict[str, bool]) -> None:
    for name, enabled in gates.items():
        if name not in FEATURE_GATES:
            known = ", ".join(sorted(FEATURE_GATES))
            raise FieldError(
                join("featureGates", name), f"is no feature gate of this version (known: {known})"
            )
        if not enabled:
            raise FieldError(join("featureGates", name), "is locked to true: this version does nothing else")


def _check_extender(extender: ExtenderConfiguration) -> None:
    if extender.tls is not None:
        if extender.plain_http:
            raise FieldError("extender.plainHTTP", "cannot be true beside extender.tls")
    elif not extender.plain_http:
        raise FieldError(
            "extender.tls", "is missing (plainHTTP: true does without it, on a loopback address only)"
        )
    elif not _is_loopback(extender.bind_address):
        raise FieldError(
            "extender.bindAddress", f"must be a loopback address with plainHTTP, not {extender.bind_address}"
        )


def _check_planning(planning: PlanningConfiguration) -> None:
    if planning.backoff_max_seconds < planning.backoff_initial_seconds:
        raise FieldError("planning.backoffMaxSeconds", "is less than planning.backoffInitialSeconds")


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
