"""Hartree-Fock whose integrals are stored, prefetched, recomputed or balanced: the application in applications/scf.

Source: Kandaswamy, Kandemir, Choudhary, Bernholdt, *Performance Implications of Architectural and Software Techniques
on I/O-Intensive Applications* (2002), sections 4.3 and 4.4. `options` has the options, `running` runs the
application and compares its energies with PySCF's, `summary` adds up its operations, `tables` prints them as tables 2
to 5 do, `report` draws figures 1 and 6 and has the versions of figure 2.
"""

from __future__ import annotations

from swath_bench.scf.options import Options, needs, quick_options
from swath_bench.scf.running import measure
from swath_bench.scf.summary import summarise
from swath_bench.scf.tables import show

__all__ = ["Options", "measure", "needs", "quick_options", "show", "summarise"]
