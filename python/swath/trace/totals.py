"""Sums of requests in the form of counters, so that tables can be made from both. Pure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from swath.trace.log import SIZE_BOUNDS, TOTAL, UNKNOWN, Log, Requests


def all_totals(log: Log) -> npt.NDArray[np.void]:
    """Return the counters of a log, and the sums of its requests in layers without counters."""
    layers = np.array([kind.layer for kind in log.kinds], object)
    counted = log.counted_layers
    if not counted:
        return totals_of(log, log.requests)
    uncounted = [index for index, layer in enumerate(layers) if layer not in counted]
    rest = log.requests.take(np.isin(log.requests.kind, uncounted))
    return np.concatenate([log.totals, totals_of(log, rest)])


def totals_of(log: Log, requests: Requests) -> npt.NDArray[np.void]:
    """Return the sums of requests over each kind, file and rank."""
    if not len(requests):
        return np.zeros(0, TOTAL)
    order = grouped(log, requests)
    key = keys(log, requests)[order]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    made = np.zeros(len(first), TOTAL)
    for name in ("kind", "file", "rank"):
        made[name] = getattr(requests, name)[order[first]]
    made["calls"] = np.diff(np.append(first, len(key)))
    for name, column in (("failed", requests.failed), ("seconds", requests.seconds), ("bytes", requests.length)):
        made[name] = np.add.reduceat(column[order], first, dtype=made[name].dtype)
    made["began"] = np.minimum.reduceat(requests.began[order], first)
    made["ended"] = np.maximum.reduceat(requests.ended[order], first)
    made["sequential"], made["consecutive"] = _sequences(requests, order, key, first)
    bin_of = np.searchsorted(SIZE_BOUNDS, requests.length[order], side="right")
    group = np.repeat(np.arange(len(first)), made["calls"])
    bins = len(SIZE_BOUNDS) + 1
    made["sizes"] = np.bincount(group * bins + bin_of, minlength=len(first) * bins).reshape(-1, bins)
    return made


def keys(log: Log, requests: Requests) -> npt.NDArray[np.int64]:
    """Return a number for each request, which encodes its kind, file and rank."""
    ranks = int(requests.rank.max()) + 2
    key = requests.kind.astype(np.int64) * (len(log.files) + 1) + requests.file + 1
    return key * ranks + requests.rank + 1


def grouped(log: Log, requests: Requests) -> npt.NDArray[np.intp]:
    """Return the order by kind, file and rank, and then by time."""
    key = keys(log, requests)
    if (requests.began[1:] >= requests.began[:-1]).all():
        return np.argsort(key, kind="stable")
    by_time = np.argsort(requests.began, kind="stable")
    return by_time[np.argsort(key[by_time], kind="stable")]


def _sequences(
    requests: Requests, order: npt.NDArray[np.intp], key: npt.NDArray[np.int64], first: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return how many requests lie behind the previous one, and how many right behind it."""
    offset = requests.offset[order]
    end = offset + requests.length[order]
    is_next = np.zeros(len(key), bool)
    is_next[1:] = (key[1:] == key[:-1]) & (offset[1:] >= 0) & (offset[:-1] >= 0)
    behind, right_behind = np.zeros(len(key), bool), np.zeros(len(key), bool)
    behind[1:] = is_next[1:] & (offset[1:] >= end[:-1])
    right_behind[1:] = is_next[1:] & (offset[1:] == end[:-1])
    is_known = np.maximum.reduceat(offset, first) >= 0
    counts = (np.add.reduceat(one, first, dtype=np.int64) for one in (behind, right_behind))
    sequential, consecutive = (np.where(is_known, one, UNKNOWN) for one in counts)
    return sequential, consecutive
