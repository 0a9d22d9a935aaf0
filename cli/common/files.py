"""Reads files and standard input, in the encodings and packings that tools write."""

from __future__ import annotations

import glob
import gzip
import json
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click

from answers.errors import InputError

__all__ = ["STDIN", "files_of", "in_folder", "read_file"]

STDIN: Final = "-"
SUFFIXES: Final = (".yaml", ".yml", ".json", ".yaml.gz", ".yml.gz", ".json.gz")
PATTERN: Final = frozenset("*?[")
GZIP: Final = b"\x1f\x8b"
PACKED: Final = {
    b"PK\x03\x04": "zip",
    b"(\xb5/\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
}
"""How packed files begin that are not read."""
WAS_READ: Final = f"{__name__}.stdin"
UTF_8: Final = "utf-8"
MARK: Final = "\ufeff"
"""What some tools write at the start of a text."""


def files_of(paths: Sequence[str]) -> list[str]:
    """The files that are meant: also those of folders, and those that a pattern matches, as in kubectl.

    Raises InputError for a folder or a pattern without files.
    """
    return [file for path in paths for file in _files(path)]


def in_folder(path: str) -> list[str]:
    """The files in a folder. As in kubectl, folders inside it are left out. Raises InputError if there are none."""
    try:
        found = sorted(str(file) for file in Path(path).iterdir() if _is_meant(file))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    if not found:
        raise InputError(f"{path}: has no .yaml, .yml or .json file")
    return found


def read_file(path: str) -> bytes:
    """A file's text as UTF-8; `-` is standard input. Raises InputError that names the file."""
    try:
        data = _standard_input() if path == STDIN else Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    return _as_utf_8(_unpacked(data, path), path)


def _files(path: str) -> Iterator[str]:
    if path == STDIN:
        yield path
    elif Path(path).is_dir():
        yield from in_folder(path)
    elif PATTERN.intersection(path) and not Path(path).exists():
        found = sorted(glob.glob(path))
        if not found:
            raise InputError(f"{path}: no file has such a name")
        yield from found
    else:
        yield path


def _is_meant(file: Path) -> bool:
    return file.name.endswith(SUFFIXES) and file.is_file()


def _standard_input() -> bytes:
    """All of it. Raises InputError the second time, because nothing would be left."""
    context = click.get_current_context(silent=True)
    meta = context.meta if context is not None else {}
    if meta.get(WAS_READ):
        raise InputError("standard input (-) can be read only once")
    meta[WAS_READ] = True
    return sys.stdin.buffer.read()


def _unpacked(data: bytes, path: str) -> bytes:
    for begin, name in PACKED.items():
        if data.startswith(begin):
            raise InputError(f"{path}: is packed with {name}, which is not read: unpack it first")
    if not data.startswith(GZIP):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: is not correct gzip: {error}") from None


def _as_utf_8(data: bytes, path: str) -> bytes:
    """The text. PowerShell writes UTF-16, which has zeros among the first bytes of JSON and YAML."""
    if data.isascii() and b"\x00" not in data[:4]:
        return data
    encoding = json.detect_encoding(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        wanted = "UTF-8" if encoding.startswith(UTF_8) else encoding.upper()
        raise InputError(f"{path}: is not {wanted} (byte {error.start + 1})") from None
    if encoding == UTF_8:
        return data
    return text.removeprefix(MARK).encode()
