"""HDF5 through h5py: one contiguous dataset, one hyperslab for each rank, read and written in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import answers
import h5py
import numpy as np

from .regions import VALUE_BYTES, VALUE_DTYPE, Contender, Pattern, Ranks, Store, Values, measuring

NAME = "rows"


class Hdf5File(Store):
    """A file with one contiguous dataset."""

    def create(self, pattern: Pattern) -> None:
        """Front to back."""
        with h5py.File(self.path, "w") as file:
            dataset = file.create_dataset(NAME, pattern.file_shape, VALUE_DTYPE)
            for begin, end in pattern.pieces(0, pattern.file_shape[0]):
                dataset[begin:end] = pattern.image(begin, end, self.stamp)
            self._offset = dataset.id.get_offset()

    def rows(self, pattern: Pattern, begin: int, end: int) -> Values:
        """Read without HDF5, by plain reads: a contiguous dataset is one run of bytes."""
        width = pattern.file_shape[1]
        first = self._offset + begin * width * VALUE_BYTES
        return np.fromfile(self.path, VALUE_DTYPE, (end - begin) * width, offset=first).reshape(-1, width)


class Hdf5Contender(Contender):
    """One process, rank after rank."""

    _file: Any = None

    def open(self, pattern: Pattern) -> None:
        """Open the file anew each time, so HDF5's buffers are empty."""
        self.close()
        self._file = h5py.File(self.store.path, "r+")

    def operation(self, pattern: Pattern, direction: str, memories: list[Values]) -> Callable[[], object]:
        """`read_direct` and `write_direct`: into and from the regions of each rank's memory."""
        dataset = self._file[NAME]
        regions = np.s_[:, : pattern.units]
        selections = [(place, m) for (place, _), m in zip(self.selections(pattern, memories), memories, strict=True)]

        def read() -> None:
            for selection, memory in selections:
                dataset.read_direct(memory, selection, regions)

        def write() -> None:
            for selection, memory in selections:
                dataset.write_direct(memory, regions, selection)
            self._file.flush()  # flushes HDF5's buffers to the kernel, as all others do

        return read if direction == "read" else write

    def close(self) -> None:
        """HDF5's own close."""
        if self._file is not None:
            self._file.close()


def contenders(ranks: Ranks, request: dict[str, Any]) -> list[Contender]:
    """Return the only contender."""
    (name,) = request["contenders"]
    return [Hdf5Contender(name, Hdf5File(f"{request['folder']}/h5py.h5"), range(request["ranks"]))]


if __name__ == "__main__":
    answers.answer(regions=measuring(contenders))
