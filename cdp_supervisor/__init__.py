"""A supervisor for whole browsers over the Chrome DevTools Protocol; the engine below it is `cdp_core`."""

__all__: list[str] = []
