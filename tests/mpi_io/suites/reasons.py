"""Why what differs does: words of the table, for a case of a suite, everywhere or on one MPI."""

REASONS: dict[str, str] = {}
"""By "romio/external32", or "romio@openmpi/external32" where it is so on this MPI only."""
