"""Compares the dialogs in the notes of a trace with the dialogs in the snapshots of each connection.

* Every opening that was delivered is shown once, in order, with its type and message. It has `agent` if and only if
  an answer of this connection was accepted. It is not pending after a closed event. Else it is pending, or was ended
  with its frame or page, and after the end of its session it is not answerable.
* Every dialog that the truth lists for a session was delivered to that session. The truth decides how it was closed
  (`note_words.py`): by us if and only if the truth has it so, by another cause only if messages reported that cause,
  and with the reported result.
* A dialog that is pending in the truth is pending. One that the truth calls unanswerable was shown so at some moment.
  A pending dialog is somewhere in the truth.
* A dialog that was delivered to no connection is one that can open unseen: unanswerable, on a page without a session
  or on a page that does not answer (facts 4, 16, 25).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from support.traces import note_words


def judge_words(truth: dict[str, Any], ledger: dict[str, Any], moments: list[Any]) -> Iterator[str]:
    """Complain of each word in `closed_by` that has no row in note_words.py: it cannot be judged."""
    names = names_of(ledger, moments)
    for entry in objects(truth.get("recent")):
        word = entry.get("closed_by")
        if word is not None and meaning_of(word, "", names) is None:
            yield f"the word {word!r} of dialog {entry.get('message')!r} has no row in note_words.py"
    for link in ledger.values():
        for entry in objects(link.get("dialogs") if isinstance(link, dict) else None):
            word = entry.get("closed_by")
            if word is not None and meaning_of(word, "", names) is None:
                yield f"the word {word!r} of the ledger has no row in note_words.py"


def meaning_of(word: Any, conn: str, names: Iterable[str]) -> Any:
    return note_words.meaning_of(word, conn, names) if isinstance(word, str) and word else None


def names_of(ledger: dict[str, Any], moments: list[Any]) -> list[str]:
    return sorted({*ledger, *(each.conn for each in moments)})


# ── delivered openings ───────────────────────────────────────────────────────────────────────────────────────────────


def shown_for(moment: Any) -> list[tuple[Any, Any]]:
    """Return each delivered opening with its view in the snapshot: the n-th opening is dialog d-n."""
    snapshot = moment.snapshot
    views = {view.id: view for view in (*snapshot.pending_dialogs, *snapshot.recent_dialogs)}
    return [(opening, views.get(f"d-{number}")) for number, opening in enumerate(moment.received.openings, 1)]


def judge_openings(moment: Any) -> Iterator[str]:
    """Complain unless each delivered opening is shown once, with the end that messages reported."""
    link, received, state = moment.link, moment.received, moment.state
    if state.last_dialog != len(received.openings):
        yield f"{len(received.openings)} openings were delivered, {state.last_dialog} dialogs were made of them"
        return
    if link.accepted_impossible:
        yield f"the browser accepted answers that the state machine held impossible: {link.accepted_impossible}"
    if link.wrongly_answerable:
        yield f"{link.wrongly_answerable} were shown as answerable, and no dialog was showing"
    for opening, view in shown_for(moment):
        if view is None:
            if not is_unconfirmed(state, opening):
                yield f"dialog {opening.message!r} was lost"
            continue
        if (view.type, view.message, view.target_id, view.frame_id) != (
            opening.type,
            opening.message[: state.limits.text_kept],
            opening.target,
            opening.frame,
        ):
            yield f"dialog {opening.message!r} is shown as {view.type} {view.message!r}"
        on_its_way = view.answering and opening.closed is None
        if opening.answered != (view.closed_by == "agent") and not on_its_way and not opening.orphaned:
            yield f"dialog {opening.message!r} was answered: {opening.answered}, and is shown as {outcome(view)}"
        if opening.closed is not None and not view.closed_by:
            yield f"dialog {opening.message!r} was closed, and is pending"
        if opening.accepted and not opening.answered and view.reason not in ("other_client", "unconfirmed", ""):
            yield f"dialog {opening.message!r} was accepted by another client, and is shown as {outcome(view)}"
        if opening.closed is None and view.closed_by and not opening.answered:
            page = moment.snapshot.page(opening.target)
            if view.reason in note_words.ELSEWHERE or (view.reason == "target_gone" and page is not None):
                yield f"dialog {opening.message!r} was not closed, and is shown as {outcome(view)}"
        if view.answerable and received.primary_session(opening.target) is None:
            yield f"dialog {opening.message!r} is shown as answerable, and no session can answer it"


def is_unconfirmed(state: Any, opening: Any) -> bool:
    """Return True if it is closed and the reply to our answer is missing: not pending and not over."""
    page = state.pages.get(opening.target)
    return page is not None and opening.closed is not None and any(each.phase == "closed" for each in page.dialogs)


def outcome(view: Any) -> str:
    return f"({view.closed_by}, {view.reason})" if view.closed_by else f"pending ({view.why or 'open'})"


# ── entries of the truth ─────────────────────────────────────────────────────────────────────────────────────────────


def judge_entries(moment: Any, truth: dict[str, Any], moments: list[Any], ledger: dict[str, Any]) -> Iterator[str]:
    """Compare the entries of the truth with the dialogs that this connection saw open."""
    received = moment.received
    if moment.state.last_dialog != len(received.openings):
        return
    left = shown_for(moment)
    names = names_of(ledger, moments)
    alone = sum(not each.before_loss for each in moments) == 1 and len(ledger) <= 1
    for entry in objects(truth.get("recent")):
        for opening, view in take(left, entry, received):
            word = entry.get("closed_by")
            meaning = meaning_of(word, conn_of(moment, word), names)
            ours = alone or "session" in entry or note_words.named(word, names) is not None or is_main(moment, ledger)
            # Else the entry's result is that of the action that the word names, not of our answer.
            if meaning is None or meaning.ours is not None or not opening.answered:
                yield from judge_result(entry, opening)
            if view is not None and meaning is not None:
                yield from judge_end(meaning, ours, alone, entry, opening, view, moment.received)
            elif view is not None and not view.closed_by and opening.closed is None and not opening.orphaned:
                yield f"dialog {entry.get('message')!r} is over in the truth, and shown as {outcome(view)}"
    for entry in objects(truth.get("pending")):
        for opening, view in take(left, entry, received):
            if view is not None and view.closed_by:
                yield f"dialog {entry.get('message')!r} is pending in the truth, and shown as {outcome(view)}"
            elif view is not None and view.why and not opening.orphaned:
                yield f"dialog {entry.get('message')!r} can be answered in the truth, and is shown as {outcome(view)}"
    seen = [each for each in shown_for(moment) if not each[0].answered]
    called = [each for entry in objects(truth.get("unanswerable")) for each in take(seen, entry, received)]
    for opening, view in called:
        if view is not None and view.id not in moment.link.shown_unanswerable:
            yield f"dialog {opening.message!r} was unanswerable and was never shown so"
    if not received.lost and moment.state.generation == 1:
        for opening, view in left:
            if view is not None and not view.closed_by and not any(opening is each for each, _view in called):
                yield f"dialog {opening.message!r} is {outcome(view)}, and it is not in the truth"


def is_main(moment: Any, ledger: dict[str, Any]) -> bool:
    """Return True for the first connection of the ledger and its reconnect: the notes describe these."""
    main = next(iter(ledger), moment.conn)
    return moment.conn in (main, f"{main}2")


def conn_of(moment: Any, word: Any) -> str:
    """Return the name to compare a word with; a joined client has the names of all its links."""
    reconnected = f"{moment.conn}2"
    return reconnected if moment.state.generation > 1 and note_words.named(word, [reconnected]) else moment.conn


def take(left: list[tuple[Any, Any]], entry: dict[str, Any], received: Any) -> list[tuple[Any, Any]]:
    """Remove and return the oldest opening that an entry can describe; empty if the connection saw none."""
    for each in left:
        if is_of(entry, each[0], received):
            left.remove(each)
            return [each]
    return []


def is_of(entry: dict[str, Any], opening: Any, received: Any) -> bool:
    session = entry.get("session")
    another = received.target_of.get(session) == opening.target and (session, opening.message) in received.delivered_to
    if session not in (None, opening.session) and not another:
        return False
    noted = (entry.get("type", opening.type), entry.get("frameId", opening.frame))
    return noted == (opening.type, opening.frame) and same_message(
        entry.get("message", opening.message), opening.message
    )


def same_message(noted: Any, message: str) -> bool:
    """Return True if notes have this message, perhaps cut short."""
    if noted == message:
        return True
    short = re.fullmatch(r"(.+?)(\.\.\.|…)(.*)", noted, re.DOTALL) if isinstance(noted, str) else None
    return short is not None and len(message) > len(noted) and message.startswith(short[1])


def judge_result(entry: dict[str, Any], opening: Any) -> Iterator[str]:
    reported = (("result", opening.accepted, "closed with"), ("userInput", opening.user_input, "given"))
    for name, value, verb in reported:
        if opening.closed is not None and value is not None and entry.get(name, value) not in (value, None):
            yield f"dialog {entry.get('message')!r} was {verb} {value!r}, and the truth has {entry[name]!r}"


def judge_end(
    meaning: Any, ours: bool, alone: bool, entry: dict[str, Any], opening: Any, view: Any, received: Any
) -> Iterator[str]:
    """Compare the end of a dialog with the word for it.

    `ours` is True if the word describes this connection; with several connections the notes do not always name the
    one that `remote` refers to.
    """
    what = f"dialog {entry.get('message')!r} was closed by {entry['closed_by']!r}"
    if ours and meaning.ours is not None and meaning.ours != (view.closed_by == "agent"):
        yield f"{what}, and is shown as {outcome(view)}"
    elif view.closed_by == "agent":
        return
    elif meaning.ours is not True and (why := contradiction(meaning, alone, opening, received)):
        yield f"{what}, and {why}"
    elif not meaning.reasons and view.closed_by and opening.closed is None:
        yield f"dialog {entry.get('message')!r} ended without an event, and is shown as {outcome(view)}"
    elif opening.closed is None:
        if view.answerable and opening.orphaned:
            yield f"dialog {entry.get('message')!r} is unanswerable, and is shown as answerable"
    elif view.closed_by != "remote" or view.reason not in (meaning.reasons or note_words.ELSEWHERE):
        yield f"{what}, and is shown as {outcome(view)}"


def contradiction(meaning: Any, alone: bool, opening: Any, received: Any) -> str:
    """Return why the meaning contradicts what the connection sent and received; empty if it does not.

    `alone` is True if no other client is in the trace.
    """
    ordered, causes = received.ordered(opening), received.causes(opening)
    if not meaning.causes or meaning.causes & causes:
        by_us = ordered - {"end of session"}  # other clients may have sessions, so this need not end the dialog
        possible = not by_us or not meaning.causes or bool(meaning.causes & ordered)
        return "" if possible else f"it was open when this connection ordered {' and '.join(sorted(by_us))}"
    if opening.closed is None and opening.orphaned:
        # After that the connection received only Target events, and no other client could answer the dialog (fact 4).
        never = meaning.causes <= {"superseded", "end of session"}
        possible = opening.lost or (meaning.causes == {"another"} and not alone) or not received.discovers
        return "" if possible and not never else "its session ended before"
    if "another" in meaning.causes and opening.closed is not None and not ordered - {"end of session"}:
        return ""
    return "no message reports that"


def judge_answered(truth: dict[str, Any], moments: list[Any], ledger: dict[str, Any]) -> Iterator[str]:
    """Compare the answers of all connections together with the words of the truth."""
    names = names_of(ledger, moments)
    last = [each for each in moments if not each.before_loss]
    targets = truth.get("frame_tree") or truth.get("targets") or ()
    pages = {each.get("targetId"): each for each in objects(targets)}
    for entry in objects(truth.get("recent")):
        word = entry.get("closed_by")
        meaning, by = meaning_of(word, "", names), note_words.named(word, names)
        seen = {each.conn: matching(entry, each.received) for each in last}
        if by is not None and not seen.get(by):
            yield f"dialog {entry.get('message')!r} was closed by {word!r}, which did not see it open"
        if (
            meaning is not None
            and by is None
            and meaning.ours is False
            and meaning.causes
            and "another" not in meaning.causes
            and is_answered(seen)
        ):
            yield f"dialog {entry.get('message')!r} was closed by {word!r}, and was answered"
        for each in (one for some in seen.values() for one in some):
            if meaning is not None and meaning.causes == {"end of target"} and each.target in pages:
                yield f"dialog {entry.get('message')!r} was closed by {word!r}, and its page still exists"
    for entry in objects(truth.get("unanswerable")):
        seen = {each.conn: matching(entry, each.received) for each in last}
        if is_answered(seen) and not could_open_unseen("unanswerable", entry, truth, last):
            yield f"dialog {entry.get('message')!r} is unanswerable in the truth, and was answered"
    for entry in objects(truth.get("pending")):
        for each in (one for moment in last for one in matching(entry, moment.received)):
            if each.frame == each.target and isinstance(pages.get(each.target, {}).get("frames"), dict):
                yield f"dialog {entry.get('message')!r} is pending in the truth, and its page answers"


def matching(entry: dict[str, Any], received: Any) -> list[Any]:
    return [each for each in received.openings if is_of({**entry, "session": None}, each, received)]


def is_answered(seen: dict[str, list[Any]]) -> bool:
    """Return True if one connection answered every dialog that the entry can describe."""
    return any(some and all(each.answered for each in some) for some in seen.values())


def judge_undelivered(truth: dict[str, Any], moments: list[Any]) -> Iterator[str]:
    """Complain of dialogs in the truth that were delivered to no connection and cannot have opened unseen."""
    last = [each for each in moments if not each.before_loss]
    for part in ("pending", "recent", "unanswerable"):
        left = [
            [(each, None) for each in moment.received.openings if part != "unanswerable" or not each.answered]
            for moment in last
        ]
        unseen = []
        for entry in objects(truth.get(part)):
            found = [take(some, entry, moment.received) for some, moment in zip(left, last, strict=True)]
            if not any(found):
                unseen.append(entry)
                if not could_open_unseen(part, entry, truth, last):
                    yield f"dialog {entry.get('message')!r} is in the truth ({part}), and no connection saw it open"
        if part == "unanswerable" and len(unseen) > most_unseen(truth, last):
            yield f"{len(unseen)} dialogs are open unseen, on fewer pages"


def could_open_unseen(part: str, entry: dict[str, Any], truth: dict[str, Any], moments: list[Any]) -> bool:
    """Return True if no connection need have seen this dialog open.

    A pending dialog was seen, and so was one that a client answered.
    """
    session, word = entry.get("session"), entry.get("closed_by")
    names = [each.conn for each in moments]
    meaning = meaning_of(word, "", names)
    if part == "pending" or (
        part == "recent" and (meaning is None or meaning.ours is True or note_words.named(word, names))
    ):
        return False
    if session is not None:
        opened = [each.received.opened[session] for each in moments if session in each.received.opened]
        if not opened or opened[0].target_type not in ("page", "iframe"):  # a dialog is a page's (fact 2)
            return False
    return most_unseen(truth, moments) > 0 or (part == "recent" and meaning.unreported)


def most_unseen(truth: dict[str, Any], moments: list[Any]) -> float:
    """Return how many dialogs can be open unseen, or can have been.

    That is one per page that does not answer or that no connection has a session on, and any number if a renderer
    gave no replies for a while. Missing replies that a seen dialog explains, on any page, do not count (fact 16).
    """
    seen = [each for moment in moments for each in moment.received.openings]
    for received in (each.received for each in moments):
        if {*received.closed_unseen} - {each.target for each in seen}:
            return math.inf
        for target, since, until in received.hung:
            if target not in received.crashed and not any(
                each.place < until and (each.closed or math.inf) > since for each in seen
            ):
                return math.inf
    silent = {
        target
        for moment in moments
        for target, since in moment.received.unanswered.values()
        if moment.received.primary_session(target) in moment.received.open and target not in moment.received.crashed
        if not any(each.closed is None or each.closed > since for each in seen)
    }
    return len((silent | pages_without_session(truth, moments)) - {each.target for each in seen if each.closed is None})


def pages_without_session(truth: dict[str, Any], moments: list[Any]) -> set[str]:
    """Return the pages of the truth on which no connection has a session."""
    listed = truth.get("frame_tree") or truth.get("targets") or ()
    pages = [each.get("targetId", "") for each in objects(listed) if each.get("type") == "page"]
    return {page for page in pages if all(moment.received.primary_session(page) is None for moment in moments)}


def judge_ledger(received: Any, ledger: dict[str, Any]) -> Iterator[str]:
    """Compare the answers of a connection with the ledger, which has one entry per dialog and session."""
    noted: dict[tuple[str, float], bool] = {}
    for each in ledger.get("dialogs", ()):
        key = (each["message"], round(each["opened_t"] or 0.0, 2))
        meaning = meaning_of(each["closed_by"], "", ())
        noted[key] = noted.get(key, False) or (meaning is not None and meaning.ours is True)
    both = {message for message, _at in noted} & {each.message for each in received.openings}
    ours = sorted(message for (message, _at), agent in noted.items() if agent and message in both)
    answered = sorted(each.message for each in received.openings if each.answered and each.message in both)
    if answered != ours:
        yield f"by the ledger this connection answered {ours}, by its replies {answered}"


def objects(listed: Any) -> Iterable[dict[str, Any]]:
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
