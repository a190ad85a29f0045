"""Recorded traces once more on the fake browser."""
