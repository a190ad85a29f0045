"""Which commands are sent to a page whose renderer process has crashed (fact 74).

See docs/cdp/a-crashed-page-answers-a-third-of-the-commands.md, and
docs/cdp/printing-a-crashed-page-ends-the-browser.md for those that must not be sent.
"""

from __future__ import annotations

from cdp_core.sansio.crash_table import ANSWERED, CARRIED_OUT, ENDS_BROWSER


def advice_after_crash(method: str, page_above: str = "") -> str:
    """Return what to do before the command can be sent; empty if the browser process answers it now.

    `page_above` names the page that contains a crashed frame, whose own session takes no command at all.
    """
    if page_above:
        return f"reload or navigate the {page_above}, which contains it, first"
    if method in ENDS_BROWSER:
        return "this command would end the whole browser now; reload or navigate the page first"
    return "" if method in ANSWERED or method in CARRIED_OUT else "reload or navigate it first"
