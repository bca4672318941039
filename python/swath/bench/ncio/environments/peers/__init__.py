"""Programs of the peers. Each runs under the Python of its own environment, where there is no Swath."""
