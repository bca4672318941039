"""The subcommands of `swath`, one module each, and what they share: `arguments` reads, `output` prints."""
