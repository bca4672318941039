"""The subcommands of `swath`, one module each. They share `arguments`, which parses, and `output`, which prints."""
