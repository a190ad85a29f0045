"""What the fake browser consists of: targets, frames, sessions, dialogs, contexts, requests."""
