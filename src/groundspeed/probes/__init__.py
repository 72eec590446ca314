"""What can be seen of the machine and the server; an absent fact is None, not a crash."""
