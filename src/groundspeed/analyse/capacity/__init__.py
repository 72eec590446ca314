"""The highest rate at which latency stays within a bound: searched in a run and told after it.

A pure function of plan and records, as `deciding` asks for. How a search chooses and what its
interval rests on is in `stats.rate_search` and docs/capacity.md; nothing is run here.
"""
