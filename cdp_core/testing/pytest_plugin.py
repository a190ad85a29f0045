"""The pytest plugin by its name inside the package, for `-p cdp_core.testing.pytest_plugin`: see `cdp_core_pytest`.

pytest finds the plugin there by itself, outside the packages, so that a run that asks for no fake browser loads none of
them.
"""

from __future__ import annotations
