"""`make bench`: runs everything, or only the named parts (`python -m bench gang`)."""

from __future__ import annotations

import os
import platform
import re
import sys

from rich.console import Console

from bench import (
    confirmation,
    decisions,
    diffs,
    dispatch,
    dump,
    events,
    evictions,
    freshness,
    gang,
    jobs,
    mirror,
    native_waiting,
    observe,
    page,
    patches,
    pending,
    quota,
    quota_filter,
    quota_live,
    quota_memory,
    reading,
    standbys,
    verbs,
    waiting,
    webhooks,
)
from cli.serve.loops import loop_name

PARTS = {
    "decisions": decisions.run,
    "mirror": mirror.run,
    "events": events.run,
    "quota": quota.run,
    "quota-live": quota_live.run,
    "reading": reading.run,
    "dump": dump.run,
    "diffs": diffs.run,
    "quota-filter": quota_filter.run,
    "quota-filter --lag": quota_filter.run_lag,
    "quota-memory": quota_memory.run,
    "pending": pending.run,
    "webhooks": webhooks.run,
    "verbs": verbs.run,
    "gang": gang.run,
    "jobs": jobs.run,
    "confirmation": confirmation.run,
    "waiting": waiting.run,
    "native-waiting": native_waiting.run,
    "observe": observe.run,
    "page": page.run,
    "evictions": evictions.run,
    "patches": patches.run,
    "standbys": standbys.run,
    "freshness": freshness.run,
    "dispatch": dispatch.run,
}
ALL = [name for name in PARTS if "--" not in name]

WIDTH = 160


def main(names: list[str]) -> int:
    """Run the parts. The exit code says whether all did what they should. Speed does not count."""
    # A file has no width. The tables need more than the 80 columns that are assumed of it.
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
    chosen = [name.strip() for name in re.split(r" (?!--)", " ".join(names))] if names else ALL
    unknown = [name for name in chosen if name not in PARTS]
    if unknown:
        console.print(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
        return 2
    computer = f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.machine()}"
    console.print(f"{computer}. Where a row names no other one, the loop is {loop_name()}.\n")
    done = [PARTS[name](console) for name in chosen]
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
