"""Navigation in the fake browser: how frames get documents, load them and lose them."""
