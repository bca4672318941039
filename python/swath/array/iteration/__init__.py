"""Loops over an array that prefetch reads and write asynchronously."""
