"""Writes the requests of a log as Parquet, for tools that read tables."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import numpy.typing as npt

from swath.errors import StoreError, UnsupportedError
from swath.trace.log import Log, Requests


def write_parquet(log: Log, path: str) -> None:
    """Write a row for each request of a log: layer, name, file, operation, and the columns of `Requests`.

    Raises:
        UnsupportedError: the package pyarrow is not installed.
        StoreError: the system refuses to write the file.
    """
    try:
        import pyarrow as pa
        from pyarrow.parquet import write_table
    except ImportError:
        raise UnsupportedError("Parquet needs the package pyarrow: pip install 'swath[parquet]'") from None

    def named(indices: npt.NDArray[np.integer], names: list[str]) -> object:
        encoded = [name.encode("utf-8", "backslashreplace").decode() for name in names]
        keys = pa.array(indices.astype(np.int32), mask=indices < 0)
        return pa.DictionaryArray.from_arrays(keys, pa.array(encoded, pa.string()))

    requests = log.requests
    columns = {
        "layer": named(requests.kind, [kind.layer for kind in log.kinds]),
        "name": named(requests.kind, [kind.name for kind in log.kinds]),
        "file": named(requests.file, log.files),
        "operation": named(requests.operation, log.operations),
    }
    for column in fields(Requests):
        if column.name not in ("kind", "file", "operation"):
            columns[column.name] = pa.array(getattr(requests, column.name))
    try:
        write_table(pa.table(columns), path)
    except OSError as error:
        raise StoreError(f"{path}: it cannot be written: {error.strerror or error}", error.errno or 0) from None
