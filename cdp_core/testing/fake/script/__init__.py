"""What scripts evaluate to in the fake browser, without a JavaScript engine."""
