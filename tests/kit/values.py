"""The one file of values, `manifests/install/kustomization.yaml`, as a user changes it in a checkout."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hack.controlplane.manifests import MANIFESTS

__all__ = ["ACTING", "CERTIFICATES", "MADE", "OFFERED", "VALUES", "checkout", "choose"]

VALUES: Final = Path("install") / "kustomization.yaml"
OFFERED: Final = re.findall(r"^  # - (\S+) ", (MANIFESTS / VALUES).read_text(), re.MULTILINE)
"""The components in the order of the file, relative to its folder."""
CERTIFICATES: Final = "certificates"
ACTING: Final = (CERTIFICATES, *(f"../components/{name}" for name in ("extender", "rights", "enforce")))
"""The components of a reprieve that acts."""
MADE: Final = ("ca", "server", "scheduler")
"""The folders that `hack/certificates` makes."""


def checkout(folder: Path) -> Path:
    """A copy of manifests/ in this folder, with the certificates that `hack/certificates` would write."""
    copied = folder / "manifests"
    shutil.copytree(MANIFESTS, copied, ignore=shutil.ignore_patterns(*MADE))
    for side in ("server", "scheduler"):
        made = copied / VALUES.parent / CERTIFICATES / side
        made.mkdir()
        for name in ("ca.crt", "tls.crt", "tls.key"):
            (made / name).write_text(f"{side} {name}")
    return copied


def choose(text: str, components: Sequence[str]) -> str:
    """The file of values after a user has done for these components what its comments say."""
    for component in components:
        assert text.count(f"  # - {component} ") == 1
        text = text.replace(f"  # - {component} ", f"  - {component} ")
    return text
