"""Modules for every other folder: settings, budgets, units, paths and what their stores can do, the user's own files.

They import errors and the core only.
"""
