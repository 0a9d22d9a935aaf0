"""The views of the page: addresses, and what they show of the example."""

from __future__ import annotations

from typing import Final

__all__ = ["VIEWS"]

VIEWS: Final = (
    ("#/map", "Show all"),
    ("#/map?as=table", "gpu-a1"),
    ("#/map?node=gpu-b2&gang=research/sweep", "that you may see"),
    ("#/waiting", "llama-train"),
    ("#/gang/research/llama-train", "rack-b"),
    ("#/pod/research/notebook", "default-scheduler says"),
    ("#/job/research/evaluate", "It depends on"),
    ("#/workload/research/tune", "NoCandidates"),
    ("#/queues", "16 used of 16"),
    ("#/queue/research", "Who waits"),
    ("#/what-if", "Paste them, or drop files here."),
    ("#/report", "the scheduler preempted 14 pods"),
    ("#/report?by=gang&price=cpu%3D1&day=2026-02-28", "2 of these 3 are of"),
    ("#/doctor", "NotInstalled"),
    ("#/gang/research/nothing", "There is no such object."),
    ("#/plans", "llama-train-feaf99077c"),
    ("#/plan/research/llama-train-feaf99077c", "all 4 planned pods are bound"),
    ("#/history", "Victims in time"),
    ("#/evicted/research/sweep-2", "It was evicted by"),
    ("#/elsewhere", "There is no view at this address"),
)
"""Each address, and a text that it shows."""
