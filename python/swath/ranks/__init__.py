"""The ranks of a collective call, the comparison of their calls, and MPI."""
