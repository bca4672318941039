"""Files beside and behind arrays: new files, Swath's own, the page cache, profiles of stores, waits for locks."""
