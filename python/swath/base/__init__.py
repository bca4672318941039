"""What every other folder may use: settings, budgets, units, paths and what their stores can do, the user's own files.

It imports only errors and the core.
"""
