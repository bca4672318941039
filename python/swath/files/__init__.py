"""Open files of any format, and the state that all arrays of one file share.

opened_file.py    a file that these ranks have open: a handle of the core (core/files/collective_file.h)
core_file.py      options of an open file: engine, streams, profile
stored_array.py   one array of a file, as it is stored; an `Array` uses one, and does not know the file

No module here imports `Array`, which is in a higher layer (tests/house/test_layers.py).
"""
