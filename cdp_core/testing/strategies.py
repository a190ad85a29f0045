"""Hypothesis strategies for scripts, schedules and faults.

    @given(script=scripts(), seed=st.integers(0, 2**32))
    def test_my_client(script, seed): ...

Scripts can always be played: a label exists when it is used, a frame is removed once, no step acts in a page that is gone.
At least half of them are race-free: the pages act when everything is quiet, so that the truth at the end is the same under
every schedule (`is_race_free`). They shrink to few steps, few frames and short texts.

Schedules use ranks, not numbers, so that they fit every script; a turn that cannot be taken is skipped. Faults have the
legality that the caller asks for.

Hypothesis is optional for this package: importing this module without it raises an ImportError that names the extra.
"""

from __future__ import annotations

from typing import Any, Final

try:
    from hypothesis import strategies as st
except ImportError as missing:  # pragma: no cover
    raise ImportError(
        "cdp_core.testing.strategies needs Hypothesis: install cdp-supervisor[testing].", name=missing.name
    ) from missing

from cdp_core.errors import InvalidArgument
from cdp_core.testing import faults as fault_types
from cdp_core.testing import schedules as turn_types
from cdp_core.testing.fake.delivery_order import Edges
from cdp_core.testing.script_strategies import DOCUMENTS, EXPRESSIONS, LARGE, PLAIN_URLS, is_race_free, scripts, steps
from cdp_core.testing.steps import Script

__all__ = ["faults", "is_race_free", "questions", "schedules", "scripts", "steps"]

_BOOLEAN: Final = st.booleans()
_SOME_OF: Final = st.sampled_from((0, 1, 1))


# ── questions ────────────────────────────────────────────────────────────────────────────────────────────────────────

_LARGE_VALUE: Final = f"'x'.repeat({LARGE})"
_ON: Final = st.sampled_from((1, 0, 2, 1))


def questions(*, max_questions: int = 6) -> st.SearchStrategy[tuple[Any, ...]]:
    """Return a strategy for the questions to a client (search.py)."""
    return _BOOLEAN.flatmap(
        lambda asked: st.lists(_QUESTION, min_size=asked, max_size=max_questions if asked else 0).map(tuple)
    )


def _question(on: int, what: Any) -> Any:
    return {"on": on, **what}


def _a_command(method: str, params: Any) -> Any:
    return {"method": method, "params": params}


_LOADS: Final = st.sampled_from((PLAIN_URLS[-1], *PLAIN_URLS[:2], DOCUMENTS[0])).map(lambda url: {"url": url})
_QUESTION: Final[st.SearchStrategy[Any]] = st.builds(
    _question,
    _ON,
    st.one_of(
        st.just({"detach": True}),
        st.builds(
            _a_command,
            st.just("Runtime.evaluate"),
            st.sampled_from((*EXPRESSIONS, "1+1", _LARGE_VALUE)).map(lambda each: {"expression": each}),
        ),
        st.sampled_from(("Page.getFrameTree", "Target.getTargets", "Page.reload", "Page.close")).map(
            lambda each: _a_command(each, {})
        ),
        st.builds(_a_command, st.just("Page.navigate"), _LOADS),
    ),
)


# ── schedules ────────────────────────────────────────────────────────────────────────────────────────────────────────


def schedules(
    script: Script | None = None, *, clients: int = 1, max_turns: int = 24, edges: Edges = "observed"
) -> st.SearchStrategy[turn_types.Schedule]:
    """Return a strategy for schedules; they contain Advance turns only if the script is not race-free."""
    client = st.integers(1, clients)
    chosen: list[st.SearchStrategy[Any]] = [
        st.builds(turn_types.Deliver, client, rank=st.integers(0, 7)),
        st.builds(turn_types.Consume, client, st.integers(1, 3)),
    ]
    if script is None or not is_race_free(script):
        chosen.append(st.builds(turn_types.Advance, st.sampled_from([1.0, 0.5])))
    return st.builds(turn_types.Schedule, st.lists(st.one_of(chosen), max_size=max_turns), st.just(edges))


# ── faults ───────────────────────────────────────────────────────────────────────────────────────────────────────────

COMMANDS: Final = (
    "Page.enable",
    "Runtime.enable",
    "Page.getFrameTree",
    "Runtime.evaluate",
    "Page.handleJavaScriptDialog",
    "Runtime.runIfWaitingForDebugger",
    "Target.setAutoAttach",
    "Target.setDiscoverTargets",
    "Target.getTargets",
    "Target.attachToTarget",
)
DIALOG: Final = "Page.javascriptDialogOpening"
EVENTS: Final = (
    "Target.attachedToTarget",
    "Target.detachedFromTarget",
    DIALOG,
    "Page.javascriptDialogClosed",
    "Page.frameAttached",
    "Page.frameNavigated",
    "Page.frameDetached",
    "Runtime.consoleAPICalled",
)


def faults(
    *legalities: fault_types.Legality, max_faults: int = 3, streams: bool = False
) -> st.SearchStrategy[tuple[fault_types.Fault, ...]]:
    """Return a strategy for up to `max_faults` faults of these legalities (default: `legal`).

    With `streams`, they include the faults of byte streams. Only the first link breaks or falls silent: a client that
    connects again gets a good link. Raises InvalidArgument.
    """
    wanted = legalities or ("legal",)
    odd = [each for each in wanted if each not in fault_types.LEGALITIES]
    if odd:
        raise InvalidArgument(f"{odd[0]!r} is not a legality; use {', '.join(fault_types.LEGALITIES)}.")
    nth, soon = st.sampled_from((1, 1, 2, 3, 4)), st.sampled_from((1, 1, 1, 2))
    command, event = st.sampled_from(COMMANDS), st.sampled_from(EVENTS)
    index, direction = st.integers(1, 40), st.sampled_from(["out", "in"])
    of: dict[fault_types.Legality, list[st.SearchStrategy[Any]]] = {
        "legal": [
            st.builds(fault_types.Refuse, command, nth),
            st.builds(fault_types.Delay, command | event, st.sampled_from([0.25, 2.0]), nth),
            st.builds(fault_types.Cut, index, direction, st.sampled_from(["after", "before"]), client=st.just(1)),
            st.builds(fault_types.Silence, index, direction, client=st.just(1)),
        ],
        "hostile": [
            st.builds(fault_types.Drop, command, nth),
            st.builds(fault_types.Duplicate, command, nth),
            # More weight for new events and values, mostly the first of a kind: a client that fails on one fails at once.
            *2 * [st.builds(fault_types.Novelty, event, st.just("event"), soon)],
            st.builds(fault_types.Novelty, event, st.just("field"), nth),
            *2
            * [
                st.builds(
                    fault_types.Novelty,
                    st.sampled_from((DIALOG, *fault_types.EVENTS_WITH_OPEN_TYPE)),
                    st.just("value"),
                    soon,
                )
            ],
        ],
        "illegal": [st.builds(fault_types.Drop, event, nth), st.builds(fault_types.Duplicate, event, nth)],
    }
    if streams:
        of["legal"] += [
            st.builds(fault_types.Split, st.integers(1, 200)),
            st.builds(fault_types.Merge, st.integers(2, 5)),
        ]
    one = st.sampled_from(wanted).flatmap(lambda legality: st.one_of(of[legality]))
    # Without a minimum size Hypothesis draws mostly empty lists.
    return _SOME_OF.flatmap(lambda some: st.lists(one, min_size=min(some, max_faults), max_size=max_faults).map(tuple))
