"""What every test may use."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Iterator

import pytest
import structlog
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]  # it has no types

from tests.e2e.order import group_of
from tests.e2e.session import (
    audit_trail,
    pytest_collection_modifyitems,
    pytest_runtest_makereport,
    pytest_runtest_protocol,
    running,
)

__all__ = [
    "audit_trail",
    "pytest_collection_modifyitems",
    "pytest_runtest_makereport",
    "pytest_runtest_protocol",
    "running",
]

SAID = "said"

# How long an example takes says nothing about the code on a machine that is busy.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


def log_plainly() -> None:
    """Log to standard output, as structlog does by itself, but without its pictures of exceptions: each of them takes
    seconds."""
    *processors, _ = structlog.get_config()["processors"]
    renderer = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*processors, renderer])


log_plainly()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """No garbage is collected meanwhile, nor later of what is there then. It went on for a third of a collection, and
    each test would have the modules and the tests of all files searched again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def _logs_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A command sets where its process logs to. Other tests run in this process, so no logger keeps that."""
    before = structlog.get_config()
    configure = structlog.configure
    monkeypatch.setattr(
        structlog,
        "configure",
        lambda **changed: configure(**changed | {"cache_logger_on_first_use": False}),
    )
    yield
    configure(**before)


@pytest.fixture
def say(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """`say(text)` shows a line at the end of the run, whether the test passes or not, and whichever process runs it."""
    return lambda text: record_property(SAID, text)


class ByFileAndPlane(LoadFileScheduling):  # type: ignore[misc]  # as above
    """`--dist loadfile`, but files that share a control plane run in one process."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(self.config.rootpath / super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByFileAndPlane | None:
    """The scheduler of `--dist loadfile`."""
    return ByFileAndPlane(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what tests said."""
    lines = [
        f"{report.nodeid}: {text}"
        for outcome in ("passed", "failed")
        for report in terminalreporter.getreports(outcome)
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, text in report.user_properties
        if name == SAID
    ]
    if lines:
        terminalreporter.section("what tests say")
        for line in sorted(lines):
            terminalreporter.line(line)
