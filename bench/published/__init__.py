"""Published curves against the same settings on emulated storage."""
