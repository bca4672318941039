"""Options of an open file of the core: its engine, the streams of its target, and its profile."""

from __future__ import annotations

import os

from swath import _core
from swath.base.lock_timeout import lock_seconds
from swath.files.open_options import OpenOptions
from swath.ranks import compared
from swath.ranks.ranks import Ranks
from swath.throttle import throttle


def throttle_of(path: str, options: OpenOptions, ranks: Ranks) -> throttle.Throttle | None:
    """Return the limit of the streams of the file's target on this rank; None if there is no limit."""
    engine = compared.effective_engine(options.engine)
    is_on_first_node = ranks.comm.node_of(ranks.rank) == 0
    coordinator = None if is_on_first_node else options.found.coordinator
    return throttle.throttle_for(path, engine, options.streams, coordinator)


def file_options(path: str, options: OpenOptions, limited: throttle.Throttle | None) -> _core.FileOptions:
    """Return the options by which the core opens a file, or a folder of chunks; `limited` limits its streams."""
    engine = compared.effective_engine(options.engine)
    lock_timeout = lock_seconds(options.lock_timeout)
    servers = throttle.of_servers(path, options.streams)
    if servers is not None:
        scope, limits = servers
        return _core.FileOptions(engine, throttle=limits, lock_timeout=lock_timeout, server_scope=scope)
    if limited is None:
        return _core.FileOptions(engine, lock_timeout=lock_timeout)
    return _core.FileOptions(engine, limited.tokens, limited.limits, lock_timeout)


def learning_of(core: _core.File, options: OpenOptions) -> _core.Learning:
    """Return the profile of the file's store, and whether it learns from operations."""
    stored = options.found.profile
    # The time of a modelled disk says nothing about the store under it.
    frozen = core.engine.startswith("modelled disk") or (stored is not None and stored.frozen)
    learns = options.learns and not frozen and os.environ.get("SWATH_LEARNING") != "0"
    return _core.Learning(_core.default_profile() if stored is None else stored.core, not learns)
