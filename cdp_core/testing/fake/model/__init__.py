"""The parts of the fake browser: targets, frames, sessions, dialogs, execution contexts, requests."""
