"""Serves unchanged MPI-IO programs: the stub that is preloaded into them, and its backends, one for each MPI.

Both are compiled (bindings/mpi_io). This package starts programs with the stub (`preload`), passes them the profiles of
stores (`measured`, `profile_sections`), lists what is installed and what would work (`backends`), and makes a backend
for another MPI (`building`).
"""
