"""Asks kube-scheduler's own filters, in a process of hack/binaries/fidelity."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import AbstractContextManager
from threading import Thread
from types import TracebackType
from typing import Any

import msgspec

from hack.controlplane.binaries import binaries

__all__ = ["Answer", "Probe", "Refusal"]


class Refusal(msgspec.Struct):
    """Why a node does not take a pod."""

    plugin: str
    reason: str


Answer = list[dict[str, Refusal]]
"""For each step of a case that has a pod, the refusals by node name. A node without one takes the pod."""


class Probe(AbstractContextManager["Probe"]):
    """The process. Raises BinariesError if it can be neither found nor built."""

    def __init__(self) -> None:
        path = binaries(["fidelity"])["fidelity"]
        self._process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self._process.stdin is None or self._process.stdout is None:
            raise OSError(f"{path} was started without pipes")
        self._questions, self._answers = self._process.stdin, self._process.stdout
        self._decoder = msgspec.json.Decoder(Answer)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._questions.close()
        self._process.wait()
        self._answers.close()

    def ask(self, cases: Sequence[dict[str, Any]]) -> list[Answer]:
        """The answers to the cases, in order. See type Case in main.go."""
        lines = b"".join(msgspec.json.encode(case) + b"\n" for case in cases)
        writer = Thread(target=self._write, args=(lines,))
        writer.start()
        answers = [self._decoder.decode(self._answers.readline()) for _ in cases]
        writer.join()
        return answers

    def _write(self, lines: bytes) -> None:
        self._questions.write(lines)
        self._questions.flush()
