"""The state machine: every decision of the supervisor, without clock, socket, task, chance or log."""
