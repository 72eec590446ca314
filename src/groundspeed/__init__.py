"""groundspeed finds out how fast a database really goes on a given storage, and proves it."""

__version__ = "0.1.0"
