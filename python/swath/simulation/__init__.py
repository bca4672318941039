"""Simulated machines: carries the plans of operations out on a machine that is described in a file."""
