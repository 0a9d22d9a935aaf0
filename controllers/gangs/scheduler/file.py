"""Reads the file that `planning.schedulerConfiguration` names."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from api.validation import FieldError
from controllers.gangs.scheduler.configuration import SchedulerConfiguration, parse

__all__ = ["load"]

SETTING: Final = "planning.schedulerConfiguration"


def load(path: str) -> SchedulerConfiguration:
    """The configuration in that file. Raises FieldError, which names the setting, the file and the field in it."""
    try:
        return parse(Path(path).read_text("utf-8-sig"))
    except OSError as error:
        raise FieldError(SETTING, f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise FieldError(SETTING, f"{path}: is not UTF-8") from None
    except FieldError as error:
        raise FieldError(SETTING, f"{path}: {error}") from None
