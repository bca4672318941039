"""Modules for every other folder: settings, budgets, units, the user's own small files. They import errors only."""
