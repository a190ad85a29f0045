"""The machine: every decision of the supervisor, without a clock, a socket, a task, chance or a log."""
