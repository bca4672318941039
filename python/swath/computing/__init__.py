"""Computing on arrays in files: what is read ahead, written behind, kept or computed again, and transformed."""
