"""The meaning of the words with which notes describe how a dialog ended (one table; facts 2-26).

Words are read by rule, so that spellings do not count: `Page.close`, `page_close` and `closed by Page.close` are one
word.

* The name of a connection means that this connection answered.
* Text after a semicolon is a remark. Text in brackets narrows the word before it, if it is a word itself.
* `a or b` is one of both.

The meaning of a word without a row in the table is `None`; the caller has to complain about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import reduce

import attrs


@attrs.frozen
class Meaning:
    """What a word means for a connection that saw the dialog open.

    `ours` is True if this connection answered it, False if not, None if the word leaves it open. `reasons` are the
    reasons that the state machine may record for another cause; empty if no event reports the end. One of `causes`
    must have been reported to a connection; empty if nothing must (`Received.causes` in reference.py).
    """

    ours: bool | None
    reasons: frozenset[str]
    causes: frozenset[str] = frozenset()
    unreported: bool = False
    """True if the dialog may have opened and ended without an event to any connection."""

    def or_else(self, other: Meaning) -> Meaning:
        """Return the meaning "one of both"."""
        return Meaning(
            self.ours if self.ours == other.ours else None,
            self.reasons | other.reasons,
            self.causes | other.causes if self.causes and other.causes else frozenset(),
            self.unreported or other.unreported,
        )

    def narrowed(self, other: Meaning | None) -> Meaning:
        """Return the meaning "both at once"; this meaning if they contradict each other."""
        if other is None or other.ours != self.ours or not self.reasons & other.reasons:
            return self
        return attrs.evolve(
            self, reasons=self.reasons & other.reasons, causes=self.causes & other.causes or self.causes or other.causes
        )


ELSEWHERE = frozenset(("closed_elsewhere", "other_client"))
NAVIGATED = frozenset(("navigation", "closed_elsewhere", "frame_gone"))
"""Another client's navigation shows as a closed event, or as a new document in the frame."""
TARGET = frozenset(("closed_elsewhere", "target_gone", "unconfirmed"))
FRAME = frozenset(("frame_gone", "closed_elsewhere", "navigation"))
SUPERSEDED = frozenset(("superseded", "closed_elsewhere", "frame_gone"))
UNANSWERABLE = frozenset(("orphaned", "unseen", "page_inactive", "superseded"))
ANY = ELSEWHERE | NAVIGATED | TARGET | UNANSWERABLE

ENDS = r"clos\w*|dispos\w*|destroy\w*|gone|kill\w*|exit\w*|quit"

ANSWERED = Meaning(True, ELSEWHERE)
ANOTHER = Meaning(False, ELSEWHERE, frozenset(("another",)))
SESSION_ENDED = Meaning(False, frozenset(), frozenset(("end of session",)))

TABLE: tuple[tuple[str, Meaning], ...] = (
    (r".*\b(failed|refused)\b.*", Meaning(False, ANY)),
    (r"(agent|us|we|ours?|our own|our answer|supervisor|answered|auto policy|policy|watchdog)\b.*", ANSWERED),
    (r".*\bhandled?( java ?script dialog)?\b.*", ANSWERED),
    (r".*\bsupersed\w*.*", Meaning(False, SUPERSEDED, frozenset(("superseded",)))),
    (r"orphaned", Meaning(False, frozenset(("orphaned", "closed_elsewhere")))),
    (r"unseen|page inactive|inactive page", Meaning(False, UNANSWERABLE | {"closed_elsewhere"}, unreported=True)),
    (r"unconfirmed", Meaning(False, frozenset(("unconfirmed", *ELSEWHERE)))),
    (
        r"auto\w*\b.*|.*\bauto ?dismiss\w*.*|(browser|chrome|platform)( itself)?( dismiss\w*)?|headless.*|suppressed.*",
        Meaning(False, ANY, unreported=True),
    ),
    (r"nobody|none|not closed|still open|open|never( closed)?", Meaning(False, ANY, unreported=True)),
    (r"(sub)?frame (gone|removed|detached|removal)|(removal|removed)\b.*\bframe.*", Meaning(False, FRAME)),
    (r"detach\w*\b.*|session (gone|detached|lost|ended)", SESSION_ENDED),
    (
        r".*\b(disconnect\w*|leaving|left)\b.*|(drop|dropped|reconnect\w*|link|connection|socket)\b.*",
        Meaning(False, frozenset(), frozenset(("end of link",))),
    ),
    (r"page disabled?", Meaning(False, ELSEWHERE)),
    (
        r".*\b(navigat\w*|reload\w*|same document|samedoc|history\w*|go back|cure|recovery|fragment)\b.*",
        Meaning(False, NAVIGATED, frozenset(("navigation",))),
    ),
    (r"((page|target|tab|renderer|frame) )?crash\w*", Meaning(False, TARGET, frozenset(("crash",)))),
    (
        r"window closed?",
        Meaning(None, TARGET, frozenset(("end of target",))),
    ),  # scripts wait (fact 15)
    (
        rf"((page|target|tab|window|browser|renderer|process)\b.*\b)?({ENDS})( \d+)?( (target|page|tab))?( browser context)?",
        Meaning(False, TARGET, frozenset(("end of target",))),
    ),
    (
        r"((an)?other|remote client|foreign|elsewhere|closed elsewhere|second client|somebody|someone|user|human)\b.*",
        ANOTHER,
    ),
    (r"remote\b.*", Meaning(False, ELSEWHERE | TARGET | NAVIGATED | SUPERSEDED)),
)
"""Pattern → meaning. The first pattern that matches a whole word counts."""


def meaning_of(word: str, conn: str, connections: Iterable[str]) -> Meaning | None:
    """Return the meaning of a word for a connection; None if the table has no row for it."""
    names = {plain(each): each for each in connections}
    body = word.partition(";")[0]
    inside = " ".join(re.findall(r"\(([^()]*)\)", body))
    body = re.sub(r"\([^()]*\)", " ", body)
    meanings = [one_meaning(each, conn, names) for each in re.split(r"\bor\b|/|\|", plain(body))]
    known = [each for each in meanings if each is not None]
    if not known or len(known) < len(meanings):
        return None
    complete = reduce(Meaning.or_else, known)
    return complete.narrowed(one_meaning(plain(inside), conn, names)) if inside else complete


def one_meaning(text: str, conn: str, names: dict[str, str]) -> Meaning | None:
    text = without_preface(text)
    if text in names:
        return ANSWERED if names[text] == conn else ANOTHER
    return next((meaning for pattern, meaning in TABLE if re.fullmatch(pattern, text)), None)


def named(word: object, connections: Iterable[str]) -> str | None:
    """Return the connection that a word names, or None."""
    names = {plain(each): each for each in connections}
    return names.get(without_preface(plain(word))) if isinstance(word, str) else None


def without_preface(text: str) -> str:
    text = re.sub(r"^((closed|settled|answered) )?by ", "", text.strip())
    return re.sub(r"^((the|an?|its|our) )?((client|connection|conn) (?=\w))?", "", text)


def plain(text: str) -> str:
    """Return the text in lower case, split into words, without punctuation."""
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return re.sub(r"[\s_.\-,:'\"]+", " ", text).strip().lower()
