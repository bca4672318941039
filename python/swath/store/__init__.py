"""What lies under the arrays: new files, modelled disks, the page cache, and profiles of stores."""
