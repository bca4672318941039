"""One contender of `swath bench files`, under the Python that runs the benchmark; Swath is there."""

from __future__ import annotations

import answers

from swath.bench.files.program import measure

if __name__ == "__main__":
    answers.answer(files=measure)
