"""Traces of a link: `file` writes and reads them, `tee` records a transport, `replayed` plays a trace."""
