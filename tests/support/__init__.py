"""What the tests share: values, small programs, and runs without an event loop. No test is here."""
