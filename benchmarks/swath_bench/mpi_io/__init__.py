"""Programs of MPI-IO, each with and without Swath's drop-in (`swath.mpi_io`) in front of its MPI, in turn.

`program/` is a program in C that makes the types that applications and libraries make, sets views, reads and writes,
and checks the moved data. `cells` has the cases, `compiling` makes the program with the installed MPI,
`running` starts it, `summary` compares with and without the drop-in and one contiguous transfer, `tables` prints.
"""

from __future__ import annotations

from swath_bench.mpi_io.cells import CASES, Options, needs, quick_options
from swath_bench.mpi_io.running import measure
from swath_bench.mpi_io.summary import summarise
from swath_bench.mpi_io.tables import show

__all__ = ["CASES", "Options", "measure", "needs", "quick_options", "show", "summarise"]
