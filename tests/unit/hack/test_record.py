"""The record of what commands print has what a reader gets, and nothing of the machine that made it."""

from __future__ import annotations

import os
from pathlib import Path

from cli.main import COMMANDS
from hack.record.asked import asked
from hack.record.asking import ask
from hack.record.cases import NOON, Case
from hack.record.examples import about_examples
from hack.record.live import live
from hack.record.pages import about_the_command, of_examples, of_pages
from hack.record.wrong import wrong

NODES = "examples/training-cluster.yaml"
PLAN = ("plan", "--for", "llama-train", "-n", "research")


def test_every_command_is_asked_about() -> None:
    asking = [
        *about_examples(),
        *of_pages(),
        *of_examples(),
        *wrong(),
        *live(),
        *about_the_command(),
        *asked(),
    ]
    cases = {case.name: case for case in asking}
    assert {case.arguments[0] for case in cases.values() if case.arguments} >= set(COMMANDS)
    assert len({(case.arguments, case.stdin, *case.files, *case.cluster) for case in cases.values()}) > 4000


def test_both_streams_and_the_status_are_written_down() -> None:
    answer = ask(Case((*PLAN, "-f", NODES, "-f", "examples/settings.yaml")))
    assert answer.startswith(f"$ reprieve {' '.join(PLAN)} -f {NODES}")
    status, _, streams = answer.partition("---- standard output\n")
    printed, _, said = streams.partition("---- standard error\n")
    assert status.endswith("exit status 2\n")
    assert not printed
    assert said.startswith("Error: examples/settings.yaml")
    answer = ask(Case((*PLAN, "-f", NODES)))
    assert "exit status 0\n---- standard output\nPreempts" in answer


def test_an_api_server_gives_the_answer_of_files() -> None:
    printed = [
        ask(case).partition("exit status")[2]
        for case in (Case(PLAN, cluster=(NODES,)), Case((*PLAN, "-f", NODES)))
    ]
    assert printed[0] == printed[1]
    refused = ask(Case(PLAN, cluster=(NODES,), refused=("nodes",)))
    assert "exit status 1" in refused
    assert "nodes is forbidden" in refused


def test_the_machine_is_not_in_it(tmp_path: Path) -> None:
    before = os.getcwd()
    answer = ask(Case(("queue", "-f", "q.yaml"), files={"q.yaml": "a: [b"}))
    assert "q.yaml" in answer
    assert "/tmp" not in answer  # noqa: S108 - it is looked for
    assert os.getcwd() == before


def test_the_moment_is_that_of_the_case() -> None:
    question = ("quota", "-f", "examples/quota-monopoly.yaml", "--for", "team-c/report")
    early, late = (ask(Case(question, moment=NOON + hours * 3600)) for hours in (0, 1000))
    assert early != late
    assert early == ask(Case(question))


def test_a_question_keeps_its_name() -> None:
    case = Case((*PLAN, "-f", NODES))
    assert case.name.startswith("plan/for-llama-train-n-research-f-training-cluster-")
    assert case.name == Case((*PLAN, "-f", NODES)).name
    others = [
        Case(case.arguments, stdin=""),
        Case(case.arguments, cluster=(NODES,)),
        Case(case.arguments, files={"a": ""}),
    ]
    assert len({case.name, *(each.name for each in others)}) == 4
