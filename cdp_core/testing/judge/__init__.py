"""What is right for a client of a browser, and what a client did wrong."""
