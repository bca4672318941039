"""Computing with what is read and written: loops that read ahead and write behind."""
