"""The Configuration file. Unknown fields are errors, every default can be printed, and errors name the field."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import yaml
from msgspec import field

from api.groups import API_VERSION
from api.validation import FieldError, convert
from api.yaml import Dumper, Json, YamlError, documents
from controllers.gangs.configuration import GroupsConfiguration, PlanningConfiguration, check_planning
from controllers.jobs.configuration import JobsConfiguration, check_jobs
from controllers.multikueue.configuration import MultiKueueConfiguration, check_multikueue
from controllers.quota.configuration import QuotaConfiguration, check_quota
from extender.configuration import ExtenderConfiguration, check_extender
from runtime.gates import DEFAULTS, completed
from runtime.terms.election import LeaderElectionConfiguration, check_leader_election
from serving.sections import FilePath, OpsConfiguration, Section
from webhooks.configuration import WebhooksConfiguration, check_webhooks

__all__ = ["Configuration", "ConfigurationError", "dump", "load", "parse"]


MODES: Final = (("planning", "confirmation"), ("planning", "gates"), ("groups", "byOwner"), ("quota", "mode"))
"""Fields that can be Off. YAML reads Off without quotes as false."""


class Configuration(Section):
    """The whole file. A null `kubeconfig` means the service account of the own Pod. A null service does not run."""

    api_version: Literal["reprieve.dev/v1alpha1"] = API_VERSION
    kind: Literal["Configuration"] = "Configuration"
    kubeconfig: FilePath | None = None
    extender: ExtenderConfiguration | None = field(default_factory=ExtenderConfiguration)
    webhooks: WebhooksConfiguration | None = None
    ops: OpsConfiguration = field(default_factory=OpsConfiguration)
    leader_election: LeaderElectionConfiguration = field(default_factory=LeaderElectionConfiguration)
    planning: PlanningConfiguration = field(default_factory=PlanningConfiguration)
    groups: GroupsConfiguration = field(default_factory=GroupsConfiguration)
    quota: QuotaConfiguration = field(default_factory=QuotaConfiguration)
    jobs: JobsConfiguration = field(default_factory=JobsConfiguration)
    multikueue: MultiKueueConfiguration | None = None
    feature_gates: dict[str, bool] = field(default_factory=lambda: dict(DEFAULTS))


class ConfigurationError(ValueError):
    """The file cannot be read, or a field is wrong. The message names the path of the field."""


def load(path: Path) -> Configuration:
    """Read the configuration from a file. Raises ConfigurationError that names file and field."""
    try:
        return parse(path.read_text("utf-8-sig"))
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: is not UTF-8") from None
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from None


def parse(text: str) -> Configuration:
    """Read the configuration from a text, and add the gates that it does not name. Raises ConfigurationError."""
    try:
        found = [document for document in documents(text) if document is not None]
    except YamlError as error:
        raise ConfigurationError(str(error)) from None
    if len(found) != 1:
        raise ConfigurationError(f"expected one document, found {len(found)}")
    document = found[0]
    try:
        _check_type(document)
        _read_off(document)
        configuration: Configuration = convert(document, Configuration)
        gates = completed(configuration.feature_gates)
        _check_services(configuration)
        check_leader_election(configuration.leader_election)
        check_planning(configuration.planning)
        check_quota(configuration.quota)
        check_jobs(configuration.jobs)
        if configuration.multikueue is not None:
            check_multikueue(configuration.multikueue, quota_mode=configuration.quota.mode)
    except FieldError as error:
        raise ConfigurationError(str(error)) from None
    return msgspec.structs.replace(configuration, feature_gates=gates)


def dump(configuration: Configuration) -> str:
    """The configuration as YAML with every field, also the defaults. `parse` can read it."""
    plain: dict[str, Any] = msgspec.to_builtins(configuration)
    return yaml.dump(plain, Dumper=Dumper, sort_keys=False, default_flow_style=False)


def _check_type(document: Json) -> None:
    for name in ("apiVersion", "kind"):
        if isinstance(document, dict) and name not in document:
            raise FieldError(name, "is missing")


def _read_off(document: Json) -> None:
    for section, name in MODES:
        settings = document.get(section) if isinstance(document, dict) else None
        if isinstance(settings, dict) and settings.get(name) is False:
            settings[name] = "Off"


def _check_services(configuration: Configuration) -> None:
    if (
        configuration.extender is None
        and configuration.webhooks is None
        and configuration.quota.mode == "Off"
    ):
        raise FieldError(
            "extender", "is null, webhooks is null, and quota.mode is Off: there is nothing to serve"
        )
    if configuration.extender is not None:
        check_extender(configuration.extender)
    if configuration.webhooks is not None:
        check_webhooks(configuration.webhooks)
