"""A process that serves the page, and nothing else."""

from __future__ import annotations

from api.clock import SYSTEM_CLOCK
from api.validation import FieldError
from cli.common.configuration import Configuration
from kube.client import ApiClient
from kube.errors import ApiError
from runtime.mirror.views import Views
from runtime.terms.election import new_identity
from runtime.terms.process import run_process
from runtime.terms.term import EternalTerms
from web.about import Place
from web.configuration import PageConfiguration
from web.readers.door import cluster_door
from web.service import PageService
from web.sources.live import Cluster
from web.statics import read_statics

__all__ = ["run_page"]


async def run_page(configuration: Configuration, page: PageConfiguration) -> bool:
    """Serve until SIGTERM or SIGINT. Raises OSError for a port that is taken, and for a page that is not built, and
    ApiError for credentials that cannot be used.

    Returns whether a signal stopped it: no part failed. It takes no part in an election: it never acts.
    """
    clock, statics = SYSTEM_CLOCK, read_statics()
    async with ApiClient.connect(configuration.kubeconfig, clock=clock) as client:
        _check_tokens(client)
        source = Cluster(client, clock)
        door = cluster_door(
            client, clock, recheck_seconds=page.recheck_seconds, session_seconds=page.session_seconds
        )
        service = PageService(page, source, door, Place(""), statics, clock)
        terms, nothing_else = EternalTerms(clock, new_identity()), Views(client, clock=clock)
        return await run_process(configuration.ops, nothing_else, [service], [], terms)


def _check_tokens(client: ApiClient) -> None:
    """Users' tokens are sent over the session of this client. Raises FieldError if it names a user itself."""
    try:
        client.with_token("token")
    except ApiError as error:
        raise FieldError("kubeconfig", error.message) from None
