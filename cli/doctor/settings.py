"""What the Configuration says of Enforce: that of a file, or the one that the Deployment of a cluster mounts."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from msgspec.structs import replace

from answers.doctor.enforcing import Wanted
from answers.doctor.kinds import ConfigMap, Deployment
from answers.doctor.seen import Seen
from answers.errors import InputError
from api.core import Namespace
from api.published import NAMESPACE
from cli.common.configuration import Configuration, ConfigurationError, read_texts, settings_of
from controllers.gangs.configuration import PlanningConfiguration

__all__ = ["mounted", "of_file", "wanted"]

VOLUME: Final = "configuration"
"""The volume of the Deployment that has the Configuration."""


def of_file(path: Path) -> Configuration:
    """The Configuration of a file or folder, which may be a part of one. Raises InputError."""
    try:
        texts = read_texts(path)
        return settings_of(texts if path.is_dir() else {"file.yaml": next(iter(texts.values()))})
    except ConfigurationError as error:
        raise InputError(f"--config: {error}") from None


def mounted(seen: Seen) -> tuple[Configuration, str]:
    """That of the Deployment, and why its settings do not count; then the defaults do."""
    deployment = seen.ours(Deployment)
    volumes = (deployment.spec.template.spec.volumes if deployment is not None else None) or ()
    names = [each.config_map.name for each in volumes if each.name == VOLUME and each.config_map is not None]
    maps = [
        each
        for each in seen.all(ConfigMap)
        if each.metadata.namespace == NAMESPACE and each.metadata.name in names
    ]
    if not maps:
        return Configuration(), "there is no ConfigMap that the Deployment mounts as its Configuration"
    try:
        return settings_of(maps[0].data or {}), ""
    except ConfigurationError as error:
        return Configuration(), f"ConfigMap {maps[0].metadata.name}: {error}"


def wanted(planning: PlanningConfiguration, seen: Seen, namespace: str) -> Wanted:
    """What would be set if this said Enforce. `namespace`: see `Wanted`."""
    enforce = replace(planning, mode="Enforce")
    modes = enforce.modes()
    for each in seen.all(Namespace):
        modes.upsert(each)
    return Wanted(modes, namespace, enforce.eviction_limits(), enforce.pieces(), enforce.preempting())
