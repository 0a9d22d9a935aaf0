"""`python -m api.crds FOLDER` writes FOLDER/crds (our kinds) and FOLDER/kueue-crds (Kueue's)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from api.crds import definitions
from api.yaml import PlainDumper

__all__ = ["FOLDERS", "main"]

FOLDERS: Final = {"reprieve.dev": "crds", "kueue.x-k8s.io": "kueue-crds"}
"""The folder of each API group. Users install and remove the two folders separately."""


def main(arguments: Sequence[str]) -> int:
    """Write the definitions of our kinds and of Kueue's kinds into two folders below FOLDER. Returns the exit code."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m api.crds FOLDER\n")
        return 2
    for name, definition in definitions().items():
        folder = Path(arguments[0], FOLDERS[definition["spec"]["group"]])
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text_of(definition), encoding="utf-8")
    return 0


def text_of(definition: dict[str, Any]) -> str:
    """The definition as YAML. The first line is a comment that names the generator."""
    body = yaml.dump(definition, Dumper=PlainDumper, sort_keys=False, width=110, allow_unicode=True)
    return f"# Generated: python -m api.crds manifests\n{body}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
