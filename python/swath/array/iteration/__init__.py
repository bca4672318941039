"""Loops over an array that read ahead of the program and write behind it."""
