"""The fake browser, a model of Chromium without an event loop: see `cdp_core.testing.FakeBrowser`."""
