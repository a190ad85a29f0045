"""WebSocket links: `open` connects, `connection` is what both paths share, `fast` reads data frames by itself."""
