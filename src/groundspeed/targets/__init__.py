"""The only place that executes a command or owns a machine, a server or a database."""
