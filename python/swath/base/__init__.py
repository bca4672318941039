"""What every other folder may use: settings, budgets, units and the user's own small files. It imports only errors."""
