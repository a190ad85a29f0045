"""A browser without a browser: see `cdp_core.testing.FakeBrowser`."""
