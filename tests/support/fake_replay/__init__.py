"""Replays of recorded traces on the fake browser."""
