"""Replay: carries out the file operations of a traced run again, on scratch files, as they were or changed."""
