"""Recorded traces beside the machine: it follows one, and what it shows is compared with the notes."""
