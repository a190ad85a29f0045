"""A second name of the pytest plugin, for `-p cdp_core.testing.pytest_plugin`.

The plugin is `cdp_core_pytest`. pytest loads it automatically, and it is outside the packages, so that a test run that uses
no fake browser imports none of them.
"""

from __future__ import annotations
