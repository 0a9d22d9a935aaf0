"""The charts as Helm renders them, and what is different from what kustomize makes of manifests/."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from cli.common.configuration import Configuration, ConfigurationError, load
from hack.controlplane.binaries import binaries
from hack.controlplane.client import Json
from hack.controlplane.manifests import MANIFESTS
from tests.kit.mounted import mounted

__all__ = [
    "CHARTS",
    "CONFIGURATIONS",
    "MAIN",
    "NAMESPACE",
    "ChartError",
    "comparable",
    "differences",
    "helm",
    "hooks_of",
    "rendered",
]

CHARTS: Final = MANIFESTS.parent / "charts"
MAIN: Final = CHARTS / "reprieve"
NAMESPACE: Final = "reprieve-system"
CONFIGURATIONS: Final = (
    "reprieve-configuration",
    "reprieve-webhooks-configuration",
    "reprieve-page-configuration",
)
HASHED: Final = re.compile(rf"({'|'.join((*CONFIGURATIONS, 'reprieve-scheduler'))})-[0-9a-z]{{10}}")
"""The names of ConfigMaps that change with their content."""
HELMS: Final = re.compile(r"helm\.sh/|meta\.helm\.sh/|app\.kubernetes\.io/managed-by$")
HOOK: Final = "helm.sh/hook"
LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Key = tuple[str, str, str, str]


class ChartError(Exception):
    """Helm refuses. The message is what it says."""


def helm(*arguments: str | Path, stdin: str = "") -> str:
    """What helm prints. Raises ChartError."""
    result = subprocess.run(
        [binaries(["helm"])["helm"], *arguments], input=stdin, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise ChartError(result.stderr)
    return result.stdout


def rendered(
    values: Mapping[str, Any], *options: str, chart: Path = MAIN, namespace: str = NAMESPACE
) -> list[Json]:
    """The objects of a chart with these values, and its hooks. Raises ChartError."""
    command = ["template", "reprieve", str(chart), "--namespace", namespace, "--values", "-", *options]
    text = helm(*command, stdin=yaml.safe_dump(dict(values)))
    return [body for body in yaml.load_all(text, LOADER) if body]


def hooks_of(objects: Iterable[Json]) -> list[Json]:
    """The objects that only exist while Helm does something."""
    return [each for each in objects if HOOK in each["metadata"].get("annotations", {})]


def comparable(objects: Iterable[Json], folder: Path) -> dict[Key, Json]:
    """The objects by kind and name, less what may differ between Helm and kustomize: hooks, the Namespace, Helm's own
    labels and annotations, hashes in names, the order of webhooks. Configurations are as `--print-config` shows them.

    `folder`: an empty one, for files. Raises ValueError if two objects have the same name, or a hash is missing.
    """
    bodies = [each for each in objects if each["kind"] != "Namespace"]
    hooks = hooks_of(bodies)
    found: dict[Key, Json] = {}
    for body in bodies:
        if body in hooks:
            continue
        plain = _without_hashes(_without_helms(body))
        if "webhooks" in plain:
            plain["webhooks"] = sorted(plain["webhooks"], key=itemgetter("name"))
        metadata = plain["metadata"]
        key = (plain["apiVersion"], plain["kind"], metadata.get("namespace", ""), metadata["name"])
        if key in found:
            raise ValueError(f"{' '.join(key)} is there twice")
        if plain["kind"] == "ConfigMap" and metadata["name"] in CONFIGURATIONS:
            plain["data"] = _printed(plain["data"], folder / metadata["name"])
        found[key] = plain
    return found


def differences(one: Mapping[Key, Json], other: Mapping[Key, Json]) -> list[str]:
    """The kinds and names of objects that only one of both has, or that are not equal."""
    keys = sorted(one.keys() | other.keys())
    return [" ".join(filter(None, key)) for key in keys if one.get(key) != other.get(key)]


def _without_helms(body: Json) -> Json:
    metadata = dict(body["metadata"])
    for field in ("labels", "annotations"):
        kept = {name: text for name, text in metadata.pop(field, {}).items() if not HELMS.match(name)}
        if kept:
            metadata[field] = kept
    return {**body, "metadata": metadata}


def _without_hashes(body: Any) -> Any:
    """The same, with the hashes taken out of names. A name that has none stays wrong, and differs."""
    if isinstance(body, dict):
        return {key: _without_hashes(value) for key, value in body.items()}
    if isinstance(body, list):
        return [_without_hashes(each) for each in body]
    if isinstance(body, str) and (found := HASHED.fullmatch(body)):
        return found[1]
    return f"{body} has no hash" if body in CONFIGURATIONS else body


def _printed(data: Mapping[str, str], folder: Path) -> Json:
    """A Configuration with every field. One that cannot be read is what the process says of it."""
    try:
        configuration: Configuration = load(mounted(folder, data)).configuration
    except ConfigurationError as error:
        return {"error": str(error)}
    plain: Json = msgspec.to_builtins(configuration)
    return plain
