"""The operators' endpoints: livez, readyz, metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from serving.metrics import HEALTHCHECK

__all__ = ["Check", "ops_app"]

Check = Callable[[], str | None]
"""A readiness check. Returns None if it passes, otherwise what is wrong."""


def ops_app(checks: Mapping[str, Check], others: Mapping[str, Check] | None = None) -> web.Application:
    """The application for GET /livez, /readyz and /metrics.

    /livez answers 200 while the event loop runs. /readyz answers 200 if every check passes, otherwise 503; ?verbose
    lists the checks. The list also has `others`, with `[!]` for a failure, but the process is ready without them. The
    metric has both.
    """
    beside = {name: check for name, check in (others or {}).items() if name not in checks}
    for name, check in (*checks.items(), *beside.items()):
        HEALTHCHECK.labels(name).set_function(lambda check=check: float(check() is None))  # type: ignore[misc] # a default of a lambda has no type

    async def livez(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(request: web.Request) -> web.Response:
        faults = {name: check() for name, check in checks.items()}
        lines = [f"[{'-' if fault else '+'}]{name} {fault or 'ok'}" for name, fault in faults.items()]
        for name, check in beside.items():
            fault = check()
            lines.append(f"[{'!' if fault else '+'}]{name} {fault or 'ok'}")
        ready = not any(faults.values())
        text = "\n".join(lines) if "verbose" in request.query or not ready else "ok"
        return web.Response(status=200 if ready else 503, text=text + "\n")

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application(client_max_size=64 * 1024)
    app.router.add_get("/livez", livez)
    app.router.add_get("/readyz", readyz)
    app.router.add_get("/metrics", metrics)
    return app
