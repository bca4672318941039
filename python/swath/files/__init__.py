"""What is open: files, of any format, and what all arrays of one file share.

opened_file.py    a file that these ranks have open: a handle of the core's (core/files/collective_file.h)
core_file.py      what that is opened with: engine, streams, profile
stored_array.py   one array of it, as it is stored; an Array stands on one, and knows no file

No module here imports `Array`, which stands above (tests/house/test_layers.py).
"""
