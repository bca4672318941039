"""Advice about a run, from its log: what would make it faster, by how much, and how it is done."""
