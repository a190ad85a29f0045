"""The pure part of the engine: every decision, and no clock, socket, task, random number or log."""
