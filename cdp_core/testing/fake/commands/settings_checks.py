"""Chromium's refusals of the commands in accepted.py: one check of the parameters per command.

Messages, codes and the order of the checks are Chromium's. Values that depend on tables of the machine, such as the
names of time zones, are checked by their form only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.commands.call import Call
from cdp_core.testing.fake.commands.shapes import enum_of
from cdp_core.testing.fake.model.addresses import origin_of
from cdp_core.testing.fake.model.dispatch_errors import Refused

Check = Callable[[Call], None]

LARGEST: Final = 10_000_000
LARGEST_SCALE: Final = 10
FULL_CIRCLE: Final = 360
MAX_TOUCH_POINTS: Final = 16
ORIENTATIONS: Final = ("portraitPrimary", "portraitSecondary", "landscapePrimary", "landscapeSecondary")
DEFICIENCIES: Final = (
    *("none", "blurredVision", "reducedContrast", "achromatopsia", "deuteranopia", "protanopia", "tritanopia"),
)
TIME_DOMAINS: Final = ("timeTicks", "threadTicks")
PERMISSIONS: Final = enum_of("Browser", "PermissionType")
_ZONE: Final = re.compile(
    r"(?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Brazil|Canada|Chile|Etc|Europe|Indian|Mexico|Pacific|US"
    r"|SystemV)/[\w+\-/]+|GMT[+-]\d{1,2}(?::?\d\d)?|[A-Z][A-Z0-9\-]{1,7}|[A-Z][a-z]+(?:-[A-Z][a-z]+)?"
)
_LOCALE: Final = re.compile(r"[A-Za-z]{1,8}(?:[-_@][A-Za-z0-9=]{1,8})*")
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


# ── contexts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def check_context(call: Call) -> None:
    """Check that the browser context that a command names exists. Raises Refused."""
    wanted = call.params.get("browserContextId")
    if wanted is not None and wanted not in call.world.contexts:
        raise Refused(-32602, f"Failed to find browser context for id {wanted}")


def check_context_use(call: Call) -> None:
    """Check that a command names an existing browser context, and only on the browser. Raises Refused."""
    if call.session.target is not None and "browserContextId" in call.params:
        raise Refused(-32602, "browserContextId is only allowed for Browser target")
    check_context(call)


def _check_permissions(call: Call) -> None:
    check_context(call)
    for each in call.params["permissions"]:
        if each not in PERMISSIONS:
            raise Refused(-32602, f"Unknown permission type: {each}")
    if "origin" in call.params and not _is_origin(call.params["origin"]):
        raise Refused(-32602, "Permission can't be granted to opaque origins.")


def _is_origin(text: str) -> bool:
    return "//" in text and origin_of(text) != "://"


# ── a device ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _check_metrics(call: Call) -> None:
    given = call.params
    screen = [given.get(name, 0) for name in ("screenWidth", "screenHeight")]
    if not all(0 <= each <= LARGEST for each in screen):
        raise Refused(-32602, f"Screen width and height values must be positive, not greater than {LARGEST}")
    position = [given.get(name, 0) for name in ("positionX", "positionY")]
    if not all(0 <= each <= most for each, most in zip(position, screen, strict=True)):
        raise Refused(-32602, "View position should be on the screen")
    if not all(0 <= given[name] <= LARGEST for name in ("width", "height")):
        raise Refused(-32602, f"Width and height values must be positive, not greater than {LARGEST}")
    if given["deviceScaleFactor"] < 0:
        raise Refused(-32602, "deviceScaleFactor must be non-negative")
    if not 0 < given.get("scale", 1) <= LARGEST_SCALE:
        raise Refused(-32602, f"scale must be positive, not greater than {LARGEST_SCALE}")
    if "screenOrientation" in given:
        _check_orientation(given["screenOrientation"])


def _check_orientation(given: Json) -> None:
    if given["type"] not in ORIENTATIONS:
        raise Refused(-32602, "Invalid screen orientation type value")
    if not 0 <= given["angle"] < FULL_CIRCLE:
        raise Refused(-32602, f"Screen orientation angle must be non-negative, less than {FULL_CIRCLE}")


def _check_touches(call: Call) -> None:
    if not 1 <= call.params.get("maxTouchPoints", 1) <= MAX_TOUCH_POINTS:
        raise Refused(-32602, f"Touch points must be between 1 and {MAX_TOUCH_POINTS}")


def _check_deficiency(call: Call) -> None:
    if call.params["type"] not in DEFICIENCIES:
        raise Refused(-32602, "Unknown vision deficiency type")


def _check_geolocation(call: Call) -> None:
    given = call.params
    if {"latitude", "longitude", "accuracy"} <= given.keys():
        in_range = -90 <= given["latitude"] <= 90 and -180 <= given["longitude"] <= 180
        if not in_range or given["accuracy"] < 0:
            raise Refused(-32000, "Invalid geolocation")


def _check_zone(call: Call) -> None:
    wanted = call.params["timezoneId"]
    if wanted and not call.session.timezone and not _ZONE.fullmatch(wanted):
        raise Refused(-32602, "Invalid timezone id")
    call.session.timezone = wanted  # Chromium changes an existing override without this check


def _check_locale(call: Call) -> None:
    wanted = call.params.get("locale", "")
    if wanted and not _LOCALE.fullmatch(wanted):
        raise Refused(-32000, "Invalid locale name")


def _check_agent(call: Call) -> None:
    for name in ("userAgent", "acceptLanguage"):
        if re.search(r"[\r\n\0]", call.params.get(name, "")):
            raise Refused(-32602, f"Invalid characters found in {name}")


# ── the rest ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def check_header(name: str, value: object) -> None:
    """Check the name and the value of an extra request header. Raises Refused."""
    if not _TOKEN.fullmatch(name):
        raise Refused(-32602, "Invalid header name")
    if not isinstance(value, str):
        raise Refused(-32602, "Invalid header value, string expected")
    if re.search(r"[\r\n\0]", value):
        raise Refused(-32602, "Invalid header value")


def _check_headers(call: Call) -> None:
    for name, value in call.params["headers"].items():
        check_header(name, value)


def _check_fonts(call: Call) -> None:
    if "fonts" in call.session.domains:
        raise Refused(-32000, "Font families can only be set once")
    call.session.domains.add("fonts")


def _check_blocking(call: Call) -> None:
    if "Page" not in call.session.domains and call.world.profile == "headless-new":
        raise Refused(-32000, "Page domain is disabled.")


def _check_state(call: Call) -> None:
    call.demand_top()
    if call.params["state"] not in ("active", "frozen"):
        raise Refused(-32000, "Unidentified lifecycle state")


def _check_debugger(call: Call) -> None:
    if "Debugger" not in call.session.domains:
        raise Refused(-32000, "Debugger agent is not enabled")


CHECKS: Final[dict[str, Check]] = {
    "Browser.grantPermissions": _check_permissions,
    "Browser.resetPermissions": check_context,
    "Debugger.setAsyncCallStackDepth": _check_debugger,
    "Emulation.setDeviceMetricsOverride": _check_metrics,
    "Emulation.setEmulatedVisionDeficiency": _check_deficiency,
    "Emulation.setGeolocationOverride": _check_geolocation,
    "Emulation.setLocaleOverride": _check_locale,
    "Emulation.setTimezoneOverride": _check_zone,
    "Emulation.setTouchEmulationEnabled": _check_touches,
    "Emulation.setUserAgentOverride": _check_agent,
    "Network.setExtraHTTPHeaders": _check_headers,
    "Network.setUserAgentOverride": _check_agent,
    "Page.setAdBlockingEnabled": _check_blocking,
    "Page.setFontFamilies": _check_fonts,
    "Page.setWebLifecycleState": _check_state,
    "Runtime.setAsyncCallStackDepth": _check_debugger,
    "Storage.clearCookies": check_context_use,
}
"""Method → check. Other methods refuse only parameters that do not fit the protocol."""
