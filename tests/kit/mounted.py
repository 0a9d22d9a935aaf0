"""A ConfigMap as a kubelet mounts it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["mounted"]


def mounted(folder: Path, data: Mapping[str, str]) -> Path:
    """A new folder below this one. Each name is a link into `..data`, which is a link to a folder named by a time."""
    mount = folder / "mounted"
    files = mount / "..2026_11_26_10_00_00.123456789"
    files.mkdir(parents=True)
    (mount / "..data").symlink_to(files.name)
    for name, text in data.items():
        (files / name).write_text(text)
        (mount / name).symlink_to(Path("..data") / name)
    return mount
