"""MPI-IO programs served as they are: the stub that they are preloaded with, and its backends, one for each MPI.

Both are compiled (bindings/mpi_io); here is what starts programs with the stub (`preload`), what it hands them of the
profiles of stores (`measured`, `profile_sections`), what is installed and what would work (`backends`), and what makes
a backend for another MPI (`building`).
"""
