"""Recorded traces, fed to the supervisor's state machine; its snapshots are compared with the notes."""
