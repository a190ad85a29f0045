"""Traces of a link: `file` writes and reads them, `replayed` records a transport or replays a trace as one."""
