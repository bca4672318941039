"""Programs that run under the Python of an environment: no module of Swath is there, but for Swath's own program."""
