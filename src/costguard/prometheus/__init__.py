"""Prometheus as a source of use: what exporters tell, how it is asked, and whose it is."""
