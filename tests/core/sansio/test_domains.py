"""Which domains are enabled, and by whom: against a model that keeps every command."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdp_core import SessionId
from cdp_core.sansio.domains import ENDINGS, LIFECYCLE_EVENTS, LIFECYCLE_SWITCH, Domains, switch

NAMES = ["Page", "Runtime", LIFECYCLE_EVENTS]
SESSIONS = [None, SessionId("S")]
SENT = st.tuples(st.sampled_from(SESSIONS), st.sampled_from(NAMES), st.booleans(), st.booleans())


@given(sent=st.lists(SENT, max_size=12))
def test_the_last_command_of_each_kind_decides(sent: list[tuple[SessionId | None, str, bool, bool]]) -> None:
    domains = Domains()
    leased: dict[Any, bool] = {}
    raw: dict[Any, bool] = {}
    for session, domain, on, of_lease in sent:
        method, params = switch(domain, on=on)
        assert method.endswith(ENDINGS)
        domains.sent(session, method, params, leased=of_lease)
        if of_lease:
            leased[session, domain] = on
        else:
            raw[session, domain] = on
            leased[session, domain] = on and leased.get((session, domain), False)
        for key in [(each, name) for each in SESSIONS for name in NAMES]:
            assert domains.is_raw(*key) == raw.get(key, False)
            assert domains.is_on(*key) == (raw.get(key, False) or leased.get(key, False))


def test_a_session_that_ended_has_no_domains() -> None:
    domains = Domains()
    domains.sent(SessionId("S"), "Page.enable", None, leased=True)
    domains.sent(SessionId("S"), "Runtime.enable", None, leased=False)
    domains.closed(SessionId("S"))
    assert not domains.is_on(SessionId("S"), "Page")
    assert not domains.is_on(SessionId("S"), "Runtime")


@pytest.mark.parametrize(
    ("method", "params"),
    [("Emulation.canEnable", None), ("Overlay.setShowsEventsEnabled", {"enabled": True}), (LIFECYCLE_SWITCH, None)],
)
def test_other_commands_enable_nothing(method: str, params: Any) -> None:
    domains = Domains()
    domains.sent(None, method, params, leased=False)
    assert not any(domains.is_on(None, name) for name in [*NAMES, method.partition(".")[0]])
