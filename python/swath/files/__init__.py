"""What is open: files, of any format, and what all arrays of one file share.

opened_file.py    a file that these ranks have open: its arrays, how it grows, is synced and completed
file_contents.py  what it holds, and what changes that
core_file.py      the core's file under it: engine, streams, profile
stored_array.py   one array of it, as it is stored; an Array stands on one, and knows no file

No module here imports `Array`, which stands above (tests/house/test_layers.py).
"""
