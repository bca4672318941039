"""The density matrix of the last iteration in a file, from which the next run begins."""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt
from record import CLOSE, OPEN, READ, WRITE, Recorder

import swath

Matrix = npt.NDArray[np.float64]


class Checkpoint:
    """A .npy file of an N × N matrix, on one rank; without a path nothing is kept."""

    def __init__(self, path: str | None, functions: int, recorder: Recorder) -> None:
        self._path, self._shape, self._recorder = path, (functions, functions), recorder

    def load(self) -> Matrix | None:
        """Return the density of an earlier run, or None. Raises ValueError if the file cannot be a density."""
        if self._path is None or not os.path.exists(self._path):
            return None
        with self._recorder.timed(OPEN):
            array = swath.open(self._path)
        with array:
            if array.shape != self._shape:
                raise ValueError(f"{self._path}: shape {array.shape}; expected {self._shape}: of another molecule?")
            with self._recorder.timed(READ, self._shape[0] ** 2 * 8):
                density: Matrix = array.read()
            begin = self._recorder.now
        self._recorder.add(CLOSE, begin)
        return density

    def save(self, density: Matrix) -> None:
        """Replace the old file by a rename: the file is always complete."""
        if self._path is None:
            return
        with self._recorder.timed(OPEN):
            array = swath.create(self._path, self._shape, np.float64, overwrite=True)
        with array:
            with self._recorder.timed(WRITE, density.nbytes):
                array[...] = density
            begin = self._recorder.now
        self._recorder.add(CLOSE, begin)
