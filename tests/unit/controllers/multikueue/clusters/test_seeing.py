"""What one session sees, and whether a watch is behind."""

from __future__ import annotations

from typing import cast

from api.meta import ObjectMeta
from controllers.multikueue.clusters.hooks import Hooks
from controllers.multikueue.clusters.objects import CopyObject, JobObject
from controllers.multikueue.clusters.seeing import BEHIND_SECONDS, Seeing
from kube.client import ApiClient
from tests.kit.apiserver import Api


def copy(version: str) -> CopyObject:
    return CopyObject(ObjectMeta("w", "n", "u", resource_version=version))


def test_a_watch_that_does_not_show_what_an_answer_has_brought_is_behind() -> None:
    """Each case counts once."""
    server = Api()
    seeing = Seeing(cast(ApiClient, server), "origin", Hooks(), server.clock)
    seeing.answered(seeing.copy_view, copy("5"))
    assert not seeing.is_behind()
    server.clock.advance(BEHIND_SECONDS)
    assert seeing.is_behind()
    assert not seeing.is_behind()


def test_a_watch_that_shows_it_is_not_behind() -> None:
    """Another watch of the cluster does not count for it."""
    server = Api()
    seeing = Seeing(cast(ApiClient, server), "origin", Hooks(), server.clock)
    seeing.answered(seeing.copy_view, copy("5"))
    seeing.answered(seeing.job_view, JobObject(ObjectMeta("j", "n", "v", resource_version="6")))
    seeing.copy_view.replaced({("n", "w")}, "7")
    seeing.copy_view._reflector.resource_version = "7"
    server.clock.advance(BEHIND_SECONDS)
    assert seeing.is_behind()
    seeing.answered(seeing.copy_view, copy("7"))
    server.clock.advance(BEHIND_SECONDS)
    assert not seeing.is_behind()
