"""One module per load tool: what to type, and what its output means. Nothing is executed here."""
