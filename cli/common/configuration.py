"""The Configuration: a file, or the files of a folder. Unknown fields are errors, every default can be printed, and
errors name the field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast

import msgspec
import yaml
from msgspec import field

from api.groups import API_VERSION
from api.validation import FieldError, convert
from api.yaml import Dumper, Json, YamlError, documents
from cli.common.merging import Merged
from controllers.account.configuration import ObservingConfiguration
from controllers.gangs.configuration import GroupsConfiguration, PlanningConfiguration, check_planning
from controllers.jobs.configuration import JobsConfiguration, check_jobs
from controllers.multikueue.configuration import MultiKueueConfiguration, check_multikueue
from controllers.quota.configuration import QuotaConfiguration, check_quota
from extender.configuration import ExtenderConfiguration, check_extender
from runtime.gates import DEFAULTS, completed
from runtime.terms.election import LeaderElectionConfiguration, check_leader_election
from serving.sections import FilePath, OpsConfiguration, Section
from web.configuration import PageConfiguration, check_page
from webhooks.configuration import WebhooksConfiguration, check_webhooks

__all__ = [
    "WHOLE",
    "Configuration",
    "ConfigurationError",
    "Loaded",
    "dump",
    "load",
    "parse",
    "read_off",
    "read_texts",
    "settings_of",
]


MODES: Final = (
    ("planning", "mode"),
    ("planning", "confirmation"),
    ("planning", "gates"),
    ("groups", "byOwner"),
    ("quota", "mode"),
)
"""Fields that can be Off. YAML reads Off without quotes as false."""
WHOLE: Final = frozenset({"jobs.managedJobsNamespaceSelector", "planning.enforcedNamespaceSelector"})
"""Mappings that are one value: half of a label selector selects something else."""
SETTINGS: Final = ("planning", "groups")
"""Sections that decide what is planned."""
SUFFIXES: Final = (".yaml", ".yml", ".json")
HIDDEN: Final = "."
"""How the names of files begin that are left out: those of editors, and `..data` in a mounted ConfigMap."""


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
    observing: ObservingConfiguration = field(default_factory=ObservingConfiguration)
    groups: GroupsConfiguration = field(default_factory=GroupsConfiguration)
    quota: QuotaConfiguration = field(default_factory=QuotaConfiguration)
    jobs: JobsConfiguration = field(default_factory=JobsConfiguration)
    multikueue: MultiKueueConfiguration | None = None
    page: PageConfiguration | None = None
    feature_gates: dict[str, bool] = field(default_factory=lambda: dict(DEFAULTS))


class ConfigurationError(ValueError):
    """The file cannot be read, or a field is wrong. The message names the path of the field."""


class Head(msgspec.Struct, rename="camel"):
    """What each file says of itself."""

    api_version: Literal["reprieve.dev/v1alpha1"]
    kind: Literal["Configuration"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A Configuration that was read from a file, or from the files of a folder."""

    path: Path
    configuration: Configuration
    merged: Merged

    def place(self, field: str) -> Path:
        """The file with the field, or with the section around it. The folder if several files have that section."""
        return _place(self.path, self.merged, field)


def load(path: Path) -> Loaded:
    """Read the configuration from a file or a folder. Raises ConfigurationError that names file and field."""
    merged = Merged(WHOLE)
    if path.is_dir():
        return Loaded(path, _of_folder(path, merged), merged)
    try:
        return Loaded(path, parse(_text(path)), merged)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from None


def parse(text: str) -> Configuration:
    """Read the configuration from a text, and add the gates that it does not name. Raises ConfigurationError."""
    try:
        return _checked(_part(text))
    except FieldError as error:
        raise ConfigurationError(str(error)) from None


def settings_of(texts: Mapping[str, str]) -> Configuration:
    """What the files of a folder (texts by name) say of planning and groups, whatever their mode is, and the rest of
    the defaults. So a part of a Configuration is enough. Raises ConfigurationError."""
    merged = Merged(WHOLE)
    try:
        for name in sorted(texts):
            if _is_meant(name):
                merged.add(_part(texts[name]), name)
        document: dict[str, Json] = {
            name: merged.document[name] for name in SETTINGS if name in merged.document
        }
        if isinstance(planning := document.get("planning"), dict):
            planning.pop("mode", None)
        return _checked({**document, "extender": None})
    except FieldError as error:
        raise ConfigurationError(str(error)) from None


def read_texts(path: Path) -> dict[str, str]:
    """The texts of a file, or of the files of a folder, by name. Raises ConfigurationError."""
    return {file.name: _text(file) for file in (_files(path) if path.is_dir() else [path])}


def read_off(document: dict[str, Json]) -> None:
    """Put the word Off where YAML has read it as false."""
    for section, name in MODES:
        settings = document.get(section)
        if isinstance(settings, dict) and settings.get(name) is False:
            settings[name] = "Off"


def _of_folder(folder: Path, merged: Merged) -> Configuration:
    """The Configuration of all files of a folder, in the order of their names. Each has some of the fields."""
    for file in _files(folder):
        try:
            part = _part(_text(file))
        except (ConfigurationError, FieldError) as error:
            raise ConfigurationError(f"{file}: {error}") from None
        try:
            merged.add(part, file.name)
        except FieldError as error:
            raise ConfigurationError(f"{folder}: {error}") from None
    try:
        return _checked(merged.document)
    except FieldError as error:
        raise ConfigurationError(f"{_place(folder, merged, error.path)}: {error}") from None


def _place(path: Path, merged: Merged, field: str) -> Path:
    names = merged.names(field)
    return path / names[0] if len(names) == 1 else path


def _files(folder: Path) -> list[Path]:
    try:
        found = sorted(folder.iterdir())
    except OSError as error:
        raise ConfigurationError(f"{folder}: {error.strerror or error}") from None
    meant = [file for file in found if _is_meant(file.name)]
    if not meant:
        raise ConfigurationError(f"{folder}: has no .yaml, .yml or .json file")
    return meant


def _is_meant(name: str) -> bool:
    return name.endswith(SUFFIXES) and not name.startswith(HIDDEN)


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(error.strerror or str(error)) from None
    except UnicodeDecodeError:
        raise ConfigurationError("is not UTF-8") from None


def _part(text: str) -> dict[str, Json]:
    """The document of one file, which may lack fields. Raises ConfigurationError, or FieldError for a wrong kind."""
    try:
        found = [document for document in documents(text) if document is not None]
    except YamlError as error:
        raise ConfigurationError(str(error)) from None
    if len(found) != 1:
        raise ConfigurationError(f"expected one document, found {len(found)}")
    convert(found[0], Head)
    document = cast("dict[str, Json]", found[0])
    read_off(document)
    return document


def _checked(document: dict[str, Json]) -> Configuration:
    """The whole Configuration. Raises FieldError."""
    configuration: Configuration = convert(document, Configuration)
    gates = completed(configuration.feature_gates)
    _check_services(configuration)
    check_leader_election(configuration.leader_election)
    check_planning(configuration.planning)
    check_quota(configuration.quota)
    check_jobs(configuration.jobs)
    if configuration.multikueue is not None:
        check_multikueue(configuration.multikueue, quota_mode=configuration.quota.mode)
    _check_modes(configuration)
    return msgspec.structs.replace(configuration, feature_gates=gates)


def dump(configuration: Configuration) -> str:
    """The configuration as YAML with every field, also the defaults. `parse` can read it."""
    plain: dict[str, Any] = msgspec.to_builtins(configuration)
    return yaml.dump(plain, Dumper=Dumper, sort_keys=False, default_flow_style=False)


def _check_modes(configuration: Configuration) -> None:
    """Raises FieldError for modes of the planes that do not go together."""
    planning = configuration.planning
    if planning.mode == "Enforce" and not planning.enforced_namespace_selector.is_empty:
        _check_narrowed(configuration)
    if planning.mode == "Enforce" and configuration.extender is None:
        message = "cannot be Enforce if extender is null: kube-scheduler has to ask reprieve. For quota alone it is Off"
        raise FieldError("planning.mode", message)
    if planning.mode != "Observe":
        return
    if configuration.multikueue is not None:
        raise FieldError("planning.mode", "cannot be Observe on a manager of several clusters (multikueue)")
    if configuration.quota.mode == "Enforce":
        raise FieldError("planning.mode", "cannot be Observe if quota.mode is Enforce: it is Enforce, or Off")


def _check_narrowed(configuration: Configuration) -> None:
    """Half of what these planes decide would not be done. Raises FieldError."""
    path = "planning.enforcedNamespaceSelector"
    if configuration.multikueue is not None:
        raise FieldError(path, "must be empty on a manager of several clusters (multikueue)")
    if configuration.quota.mode == "Enforce":
        raise FieldError(path, "must be empty if quota.mode is Enforce: quota is managed in all namespaces")


def _check_services(configuration: Configuration) -> None:
    if configuration.page is not None:
        _check_alone(configuration)
        check_page(configuration.page)
        return
    if (
        configuration.extender is None
        and configuration.webhooks is None
        and configuration.quota.mode == "Off"
        and configuration.planning.mode == "Off"
    ):
        raise FieldError(
            "extender",
            "is null, webhooks is null, planning.mode is Off, and quota.mode is Off: there is nothing to serve",
        )
    if configuration.extender is not None:
        check_extender(configuration.extender)
    if configuration.webhooks is not None:
        check_webhooks(configuration.webhooks)


def _check_alone(configuration: Configuration) -> None:
    """The page has a process of its own: whoever looks shares no loop and no service account with who acts. Raises
    FieldError."""
    others = {
        "extender": configuration.extender is not None,
        "webhooks": configuration.webhooks is not None,
        "planning.mode": configuration.planning.mode != "Off",
        "quota.mode": configuration.quota.mode != "Off",
        "multikueue": configuration.multikueue is not None,
    }
    for path, is_there in others.items():
        if is_there:
            needed = "Off" if path.endswith("mode") else "null"
            raise FieldError(path, f"must be {needed} beside page: the page has a process of its own")
