"""The commands of the Page domain that show the history of a page, and go through it."""

from __future__ import annotations

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.commands.call import FRAMES, LATER, Call, modelled
from cdp_core.testing.fake.model.dispatch_errors import Refused
from cdp_core.testing.fake.navigation import traversals


@modelled("Page.getNavigationHistory", FRAMES)
def _get_history(call: Call) -> Json:
    call.demand_top()
    history = call.target.history
    return {"currentIndex": history.current_index, "entries": [each.shown() for each in history.entries]}


@modelled("Page.navigateToHistoryEntry", FRAMES)
def _go_to_entry(call: Call) -> Json:
    call.demand_top()
    entry = call.target.history.find(call.params["entryId"])
    if entry is None:
        raise Refused(-32602, "No entry with passed id")
    traversals.go(call.world, call.target, entry, call.player.loaded, lambda: call.answer({"result": {}}))
    return LATER


@modelled("Page.resetNavigationHistory", FRAMES)
def _reset_history(call: Call) -> Json:
    call.demand_top()
    call.target.history.reset()
    return {}
