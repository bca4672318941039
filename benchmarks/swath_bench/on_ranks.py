"""One rank of a benchmark. Started by `launch.py`: `mpiexec -n N python -m mpi4py -m swath_bench.on_ranks ...`."""

from __future__ import annotations

import importlib
import json
import os
import sys


def main() -> None:
    """Measure; rank 0 writes the result as JSON to the given path."""
    from mpi4py import MPI

    from swath.ranks.ranks import ranks_of

    benchmark, options, folder, result_path = sys.argv[1:]
    module = importlib.import_module(f"swath_bench.{benchmark}")
    ranks = ranks_of(MPI.COMM_WORLD)
    result = module.run(ranks, os.path.join(folder, f"{benchmark}.bin"), module.Options(**json.loads(options)))
    if ranks.rank == 0:
        with open(result_path, "w", encoding="utf-8") as file:
            json.dump(result, file)


if __name__ == "__main__":
    main()
