"""Dumps of a simulation in C by the installed library: Swath beside gathering, parallel HDF5 and PnetCDF.

Every contender is one program of C in `program/`, compiled for the MPI of an installed Swath (`--prefixes`). All of
them write the same variables of the same blocks. `cases` has the cases and contenders, `compiling` makes the programs,
`running` starts them in turn, `checks` compares the files with NumPy, `cyclic_read` reads from Python what
`program/cyclic_read.c` reads from C, `summary` and `tables` report.
"""

from __future__ import annotations

from swath_bench.simulation.cases import CASES, Options, needs, quick_options
from swath_bench.simulation.running import measure
from swath_bench.simulation.summary import summarise
from swath_bench.simulation.tables import show

__all__ = ["CASES", "Options", "measure", "needs", "quick_options", "show", "summarise"]
