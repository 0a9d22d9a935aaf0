"""`python -m hack.charts FOLDER` writes the generated files of FOLDER/reprieve and FOLDER/reprieve-crds."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hack.charts import constant, crds
from hack.charts.schema import crd_schema, schema, text_of

__all__ = ["GENERATED", "main", "written"]

GENERATED: Final = ("reprieve/templates/constant", "reprieve/files", "reprieve-crds/templates")
"""The folders below charts/ in which all files are generated."""
SCHEMA: Final = "values.schema.json"


def written() -> dict[str, str]:
    """By name of the file below charts/, its text."""
    templates, files, definitions = GENERATED
    return {
        **{f"{templates}/{name}": text for name, text in constant.templates().items()},
        **{f"{files}/{name}": text for name, text in constant.files().items()},
        **{f"{definitions}/{name}": text for name, text in crds.templates().items()},
        f"reprieve/{SCHEMA}": text_of(schema()),
        f"reprieve-crds/{SCHEMA}": text_of(crd_schema()),
    }


def main(arguments: Sequence[str]) -> int:
    """Write the files, and remove what is generated no longer. Returns the exit code."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m hack.charts FOLDER\n")
        return 2
    charts = Path(arguments[0])
    for folder in GENERATED:
        shutil.rmtree(charts / folder, ignore_errors=True)
    for name, text in written().items():
        file = charts / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
