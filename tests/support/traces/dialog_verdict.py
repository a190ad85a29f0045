"""What the notes say of dialogs, beside what the machine of a connection shows of them.

* Every opening that was delivered is shown, once, in its order, with its type and message. It is `agent` exactly where an
  answer of this connection was accepted; it is not pending where a closed event came; else it is pending, or was ended by
  what ended its frame or page, and after the end of its session nobody is offered it.
* Every dialog that the truth has of a session was delivered to it. Who closed it is who the truth says (`note_words.py`): ours
  exactly where the truth says so; by what else, only where that was told; with the result that was told.
* What the truth has pending is pending; what it calls unanswerable was shown so at some moment. What is pending the truth
  has somewhere.
* A dialog that nobody was told of is one that could open unseen: unanswerable, on a page that somebody does not hear or
  that gives no answers (facts 4, 16, 25).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from support.traces import note_words


def judge_words(truth: dict[str, Any], ledger: dict[str, Any], sights: list[Any]) -> Iterator[str]:
    """Words that say nothing here: nothing can be judged by them."""
    names = names_of(ledger, sights)
    for entry in objects(truth.get("recent")):
        word = entry.get("closed_by")
        if word is not None and meaning_of(word, "", names) is None:
            yield f"the word {word!r} of dialog {entry.get('message')!r} says nothing here: note_words.py has no row for it"
    for link in ledger.values():
        for entry in objects(link.get("dialogs") if isinstance(link, dict) else None):
            word = entry.get("closed_by")
            if word is not None and meaning_of(word, "", names) is None:
                yield f"the word {word!r} of the ledger says nothing here: note_words.py has no row for it"


def meaning_of(word: Any, conn: str, names: Iterable[str]) -> Any:
    return note_words.meaning_of(word, conn, names) if isinstance(word, str) and word else None


def names_of(ledger: dict[str, Any], sights: list[Any]) -> list[str]:
    return sorted({*ledger, *(each.conn for each in sights)})


# ── what was delivered ───────────────────────────────────────────────────────────────────────────────────────────────


def shown_for(sight: Any) -> list[tuple[Any, Any]]:
    """(opening, what the machine shows of it), by number: the n-th opening that was delivered is d-n."""
    snapshot = sight.snapshot
    views = {view.id: view for view in (*snapshot.pending_dialogs, *snapshot.recent_dialogs)}
    return [(opening, views.get(f"d-{number}")) for number, opening in enumerate(sight.heard.openings, 1)]


def judge_openings(sight: Any) -> Iterator[str]:
    """Each opening that was delivered is shown, once; what was told of its end is believed."""
    link, heard, state = sight.link, sight.heard, sight.state
    if state.last_dialog != len(heard.openings):
        yield f"{len(heard.openings)} openings were delivered, {state.last_dialog} dialogs were made of them"
        return
    if link.taken_all_the_same:
        yield f"the browser took answers that the machine held impossible: {link.taken_all_the_same}"
    if link.offered_in_vain:
        yield f"{link.offered_in_vain} could be answered as far as the machine knew, and no dialog was showing"
    for opening, view in shown_for(sight):
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
            yield f"dialog {opening.message!r} was accepted by somebody, and is shown as {outcome(view)}"
        if opening.closed is None and view.closed_by and not opening.answered:
            page = sight.snapshot.page(opening.target)
            if view.reason in note_words.ELSEWHERE or (view.reason == "target_gone" and page is not None):
                yield f"dialog {opening.message!r} was not closed, and is shown as {outcome(view)}"
        if view.answerable and heard.listened(opening.target) is None:
            yield f"dialog {opening.message!r} is offered, and no session can answer it"


def is_unconfirmed(state: Any, opening: Any) -> bool:
    """Closed, while the reply to our answer is on its way: it is neither pending nor over."""
    page = state.pages.get(opening.target)
    return page is not None and opening.closed is not None and any(each.phase == "closed" for each in page.dialogs)


def outcome(view: Any) -> str:
    return f"({view.closed_by}, {view.reason})" if view.closed_by else f"pending ({view.why or 'open'})"


# ── what the truth tells ─────────────────────────────────────────────────────────────────────────────────────────────


def judge_told(sight: Any, truth: dict[str, Any], sights: list[Any], ledger: dict[str, Any]) -> Iterator[str]:
    """What the truth says of the dialogs that were seen."""
    heard = sight.heard
    if sight.state.last_dialog != len(heard.openings):
        return
    left = shown_for(sight)
    names = names_of(ledger, sights)
    alone = sum(not each.before_loss for each in sights) == 1 and len(ledger) <= 1
    for entry in objects(truth.get("recent")):
        for opening, view in take(left, entry, heard):
            word = entry.get("closed_by")
            meaning = meaning_of(word, conn_of(sight, word), names)
            ours = alone or "session" in entry or note_words.named(word, names) is not None or is_main(sight, ledger)
            if (
                meaning is None or meaning.ours is not None or not opening.answered
            ):  # else the result is of what was tried
                yield from judge_result(entry, opening)
            if view is not None and meaning is not None:
                yield from judge_end(meaning, ours, alone, entry, opening, view, sight.heard)
            elif view is not None and not view.closed_by and opening.closed is None and not opening.orphaned:
                yield f"dialog {entry.get('message')!r} is over in truth, and shown as {outcome(view)}"
    for entry in objects(truth.get("pending")):
        for opening, view in take(left, entry, heard):
            if view is not None and view.closed_by:
                yield f"dialog {entry.get('message')!r} is pending in truth, and shown as {outcome(view)}"
            elif view is not None and view.why and not opening.orphaned:
                yield f"dialog {entry.get('message')!r} can be answered in truth, and is shown as {outcome(view)}"
    seen = [each for each in shown_for(sight) if not each[0].answered]
    called = [each for entry in objects(truth.get("unanswerable")) for each in take(seen, entry, heard)]
    for opening, view in called:
        if view is not None and view.id not in sight.link.shown_unanswerable:
            yield f"dialog {opening.message!r} was unanswerable, and was never shown so"
    if not heard.lost and sight.state.generation == 1:
        for opening, view in left:
            if view is not None and not view.closed_by and not any(opening is each for each, _view in called):
                yield f"dialog {opening.message!r} is {outcome(view)}, and the truth has it nowhere"


def is_main(sight: Any, ledger: dict[str, Any]) -> bool:
    """The notes speak for the first connection of their ledger, and for what that client came back as."""
    main = next(iter(ledger), sight.conn)
    return sight.conn in (main, f"{main}2")


def conn_of(sight: Any, word: Any) -> str:
    """A machine that has followed a client over its links goes by the names of all of them."""
    again = f"{sight.conn}2"
    return again if sight.state.generation > 1 and note_words.named(word, [again]) else sight.conn


def take(left: list[tuple[Any, Any]], entry: dict[str, Any], heard: Any) -> list[tuple[Any, Any]]:
    """The oldest that an entry may speak of, taken out; none where the connection did not see it."""
    for each in left:
        if is_of(entry, each[0], heard):
            left.remove(each)
            return [each]
    return []


def is_of(entry: dict[str, Any], opening: Any, heard: Any) -> bool:
    session = entry.get("session")
    another = heard.target_of.get(session) == opening.target and (session, opening.message) in heard.told_to
    if session not in (None, opening.session) and not another:
        return False
    told = (entry.get("type", opening.type), entry.get("frameId", opening.frame))
    return told == (opening.type, opening.frame) and says(entry.get("message", opening.message), opening.message)


def says(told: Any, message: str) -> bool:
    """Whether notes mean a message; a long one they may have cut."""
    if told == message:
        return True
    short = re.fullmatch(r"(.+?)(\.\.\.|…)(.*)", told, re.DOTALL) if isinstance(told, str) else None
    return short is not None and len(message) > len(told) and message.startswith(short[1])


def judge_result(entry: dict[str, Any], opening: Any) -> Iterator[str]:
    told = (("result", opening.accepted, "closed with"), ("userInput", opening.user_input, "given"))
    for name, value, said in told:
        if opening.closed is not None and value is not None and entry.get(name, value) not in (value, None):
            yield f"dialog {entry.get('message')!r} was {said} {value!r}, and the truth says {entry[name]!r}"


def judge_end(
    meaning: Any, ours: bool, alone: bool, entry: dict[str, Any], opening: Any, view: Any, heard: Any
) -> Iterator[str]:
    """`ours`: whether the word is of this connection; of several, the notes do not always say whose remote it is."""
    what = f"dialog {entry.get('message')!r} was closed by {entry['closed_by']!r}"
    if ours and meaning.ours is not None and meaning.ours != (view.closed_by == "agent"):
        yield f"{what}, and is shown as {outcome(view)}"
    elif view.closed_by == "agent":
        return
    elif meaning.ours is not True and (why := unheard_of(meaning, alone, opening, heard)):
        yield f"{what}, and {why}"
    elif not meaning.reasons and view.closed_by and opening.closed is None:
        yield f"dialog {entry.get('message')!r} ended untold, and is shown as {outcome(view)}"
    elif opening.closed is None:
        if view.answerable and opening.orphaned:
            yield f"dialog {entry.get('message')!r} can be answered by nobody, and is offered"
    elif view.closed_by != "remote" or view.reason not in (meaning.reasons or note_words.ELSEWHERE):
        yield f"{what}, and is shown as {outcome(view)}"


def unheard_of(meaning: Any, alone: bool, opening: Any, heard: Any) -> str:
    """Why it cannot have been so, by what the connection ordered and was told. `alone`: no other client has records."""
    ordered, causes = heard.ordered(opening), heard.causes(opening)
    if not meaning.causes or meaning.causes & causes:
        by_us = ordered - {"end of session"}  # which need not end it: others have sessions, too
        told = not by_us or not meaning.causes or bool(meaning.causes & ordered)
        return "" if told else f"it was up when this connection ordered {' and '.join(sorted(by_us))}"
    if opening.closed is None and opening.orphaned:
        # From then on it was told nothing: only of the targets that it discovers, and nobody else could answer (fact 4).
        never = meaning.causes <= {"superseded", "end of session"}
        may_be = opening.lost or (meaning.causes == {"another"} and not alone) or not heard.discovers
        return "" if may_be and not never else "its session ended before"
    if "another" in meaning.causes and opening.closed is not None and not ordered - {"end of session"}:
        return ""
    return "nothing told says so"


def judge_answered(truth: dict[str, Any], sights: list[Any], ledger: dict[str, Any]) -> Iterator[str]:
    """Whoever answered, all connections together."""
    names = names_of(ledger, sights)
    last = [each for each in sights if not each.before_loss]
    targets = truth.get("frame_tree") or truth.get("targets") or ()
    pages = {each.get("targetId"): each for each in objects(targets)}
    for entry in objects(truth.get("recent")):
        word = entry.get("closed_by")
        meaning, by = meaning_of(word, "", names), note_words.named(word, names)
        told = {each.conn: matching(entry, each.heard) for each in last}
        if by is not None and not told.get(by):
            yield f"dialog {entry.get('message')!r} was closed by {word!r}, which was not told of it"
        if (
            meaning is not None
            and by is None
            and meaning.ours is False
            and meaning.causes
            and "another" not in meaning.causes
            and is_answered(told)
        ):
            yield f"dialog {entry.get('message')!r} was closed by {word!r}, and was answered"
        for each in (one for some in told.values() for one in some):
            if meaning is not None and meaning.causes == {"end of target"} and each.target in pages:
                yield f"dialog {entry.get('message')!r} was closed by {word!r}, and its page is there"
    for entry in objects(truth.get("unanswerable")):
        told = {each.conn: matching(entry, each.heard) for each in last}
        if is_answered(told) and not could_open_unseen("unanswerable", entry, truth, last):
            yield f"dialog {entry.get('message')!r} is unanswerable in truth, and was answered"
    for entry in objects(truth.get("pending")):
        for each in (one for sight in last for one in matching(entry, sight.heard)):
            if each.frame == each.target and isinstance(pages.get(each.target, {}).get("frames"), dict):
                yield f"dialog {entry.get('message')!r} is pending in truth, and its page answers"


def matching(entry: dict[str, Any], heard: Any) -> list[Any]:
    return [each for each in heard.openings if is_of({**entry, "session": None}, each, heard)]


def is_answered(told: dict[str, list[Any]]) -> bool:
    """Whether all that it may be were, by one connection."""
    return any(some and all(each.answered for each in some) for some in told.values())


def judge_unheard(truth: dict[str, Any], sights: list[Any]) -> Iterator[str]:
    """Dialogs that nobody was told of."""
    last = [each for each in sights if not each.before_loss]
    for part in ("pending", "recent", "unanswerable"):
        left = [
            [(each, None) for each in sight.heard.openings if part != "unanswerable" or not each.answered]
            for sight in last
        ]
        unseen = []
        for entry in objects(truth.get(part)):
            found = [take(some, entry, sight.heard) for some, sight in zip(left, last, strict=True)]
            if not any(found):
                unseen.append(entry)
                if not could_open_unseen(part, entry, truth, last):
                    yield f"dialog {entry.get('message')!r} is in the truth ({part}), and nobody was told of its opening"
        if part == "unanswerable" and len(unseen) > most_unseen(truth, last):
            yield f"{len(unseen)} dialogs are up that nobody saw, on fewer pages"


def could_open_unseen(part: str, entry: dict[str, Any], truth: dict[str, Any], sights: list[Any]) -> bool:
    """Only what was never pending can have opened unseen, and who says that it is over knows how it ended."""
    session, word = entry.get("session"), entry.get("closed_by")
    names = [each.conn for each in sights]
    meaning = meaning_of(word, "", names)
    if part == "pending" or (
        part == "recent" and (meaning is None or meaning.ours is True or note_words.named(word, names))
    ):
        return False
    if session is not None:
        opened = [each.heard.opened[session] for each in sights if session in each.heard.opened]
        if not opened or opened[0].target_type not in ("page", "iframe"):  # a dialog is a page's (fact 2)
            return False
    return most_unseen(truth, sights) > 0 or (part == "recent" and meaning.untold)


def most_unseen(truth: dict[str, Any], sights: list[Any]) -> float:
    """How many dialogs may be up that nobody saw, or have been.

    One on each page that gives no answers or that nobody has a session of; any number where a renderer was silent for a
    while. What a dialog that somebody saw explains, in whatever page, shows no other (fact 16).
    """
    seen = [each for sight in sights for each in sight.heard.openings]
    for heard in (each.heard for each in sights):
        if {*heard.closed_unseen} - {each.target for each in seen}:
            return math.inf
        for target, since, until in heard.hung:
            if target not in heard.crashed and not any(
                each.place < until and (each.closed or math.inf) > since for each in seen
            ):
                return math.inf
    silent = {
        target
        for sight in sights
        for target, since in sight.heard.unanswered.values()
        if sight.heard.listened(target) in sight.heard.open and target not in sight.heard.crashed
        if not any(each.closed is None or each.closed > since for each in seen)
    }
    return len((silent | pages_unheard(truth, sights)) - {each.target for each in seen if each.closed is None})


def pages_unheard(truth: dict[str, Any], sights: list[Any]) -> set[str]:
    """Pages that the truth has, and no connection has a session of."""
    listed = truth.get("frame_tree") or truth.get("targets") or ()
    pages = [each.get("targetId", "") for each in objects(listed) if each.get("type") == "page"]
    return {page for page in pages if all(sight.heard.listened(page) is None for sight in sights)}


def judge_ledger(heard: Any, ledger: dict[str, Any]) -> Iterator[str]:
    """The ledger counts by session; who answered is said by the session that did."""
    told: dict[tuple[str, float], bool] = {}
    for each in ledger.get("dialogs", ()):
        key = (each["message"], round(each["opened_t"] or 0.0, 2))
        meaning = meaning_of(each["closed_by"], "", ())
        told[key] = told.get(key, False) or (meaning is not None and meaning.ours is True)
    both = {message for message, _at in told} & {each.message for each in heard.openings}
    ours = sorted(message for (message, _at), agent in told.items() if agent and message in both)
    answered = sorted(each.message for each in heard.openings if each.answered and each.message in both)
    if answered != ours:
        yield f"by the ledger this connection answered {ours}, by its replies {answered}"


def objects(listed: Any) -> Iterable[dict[str, Any]]:
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
