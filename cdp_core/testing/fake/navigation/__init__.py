"""How the frames of the fake browser get documents, and lose them."""
