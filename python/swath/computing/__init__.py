"""Computing beside reading and writing: loops over arrays, batches that are kept or computed again, transforms."""
