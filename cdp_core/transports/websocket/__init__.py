"""WebSocket links: `open` connects, `connection` is the base class, `fast` reads data frames."""
