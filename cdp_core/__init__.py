"""The Chrome DevTools Protocol over trio: one connection, its sessions, its events."""

__version__ = "0.1.0"
