"""Strict local servers of the platforms, written from their published facts."""
