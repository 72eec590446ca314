"""Pure mathematics: samples, comparisons, series, change points, histograms.

It refuses to do any I/O, to draw randomness of its own, and to word findings.
"""
