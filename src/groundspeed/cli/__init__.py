"""The command line: parses, wires the rooms together and prints. Nothing is computed here."""
