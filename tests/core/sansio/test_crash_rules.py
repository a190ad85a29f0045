"""What is sent to a crashed page."""

from __future__ import annotations

import pytest

from cdp_core.sansio.crash_rules import advice_after_crash
from cdp_core.sansio.crash_table import ANSWERED, CARRIED_OUT, ENDS_BROWSER


@pytest.mark.parametrize("method", sorted(ANSWERED | CARRIED_OUT))
def test_a_command_that_the_browser_process_answers_is_sent(method: str) -> None:
    assert advice_after_crash(method) == ""


@pytest.mark.parametrize("method", ["Runtime.evaluate", "Page.enable", "Invented.command", ""])
def test_any_other_command_waits_for_the_reload(method: str) -> None:
    assert advice_after_crash(method) == "reload or navigate it first"


@pytest.mark.parametrize("method", sorted(ENDS_BROWSER))
def test_a_command_that_would_end_the_browser_is_named_as_such(method: str) -> None:
    assert "would end the whole browser" in advice_after_crash(method)


@pytest.mark.parametrize("method", ["Page.navigate", "Page.printToPDF", "Runtime.evaluate"])
def test_a_crashed_frame_takes_no_command(method: str) -> None:
    assert advice_after_crash(method, "page P") == "reload or navigate the page P, which contains it, first"


def test_the_tables_share_no_command() -> None:
    assert not ANSWERED & (ENDS_BROWSER | CARRIED_OUT)
