"""Programs that run under the Python of an environment: only Swath's own program can import Swath."""
