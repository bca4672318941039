"""Programs that run in the environments: they import no Swath."""
