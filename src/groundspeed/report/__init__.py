"""Findings for people and for machines: terminal, Markdown, HTML, JSON and CSV.

`view` words and scales them once; the other modules only lay them out. There are no statistics
here.
"""
