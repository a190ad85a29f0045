"""Every decision of the engine, and nothing that waits: no clock, socket, task, chance or log in here."""
