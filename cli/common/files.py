"""Reads files and standard input."""

from __future__ import annotations

import codecs
import sys
from pathlib import Path
from typing import Final

from answers.errors import InputError

__all__ = ["STDIN", "read_file"]

STDIN: Final = "-"


def read_file(path: str) -> bytes:
    """A file's UTF-8 text; `-` is standard input. Raises InputError that names the file."""
    try:
        data = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
        if not data.isascii():
            data.decode()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 (byte {error.start + 1})") from None
    return data.removeprefix(codecs.BOM_UTF8)
