"""The laws for a client of a browser, and the judge that finds broken ones."""
