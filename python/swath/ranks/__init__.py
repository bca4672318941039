"""The ranks of a collective call: who they are, what they compare, and MPI."""
