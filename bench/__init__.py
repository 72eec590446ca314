"""Benchmarks of groundspeed itself, each run as `python -m bench.NAME`; they refuse to be tests."""
