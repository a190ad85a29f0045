"""Search for scripts and schedules that a client handles wrongly."""
