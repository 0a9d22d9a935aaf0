"""The way to write to pods, without a term."""

from __future__ import annotations

from api.clock import SYSTEM_CLOCK
from controllers.gangs.lifecycle.modes import Mode, Modes
from controllers.gangs.writing.pod_writer import PodWriter
from kube.client import ApiClient
from kube.sender import Sender

__all__ = ["pod_writer"]


def pod_writer(client: ApiClient, sender: Sender | None = None, mode: Mode = "Enforce") -> PodWriter:
    """It tells no user the result of a write."""
    return PodWriter(sender or Sender(client), SYSTEM_CLOCK, Modes(mode), lambda *_args, **_options: None)
