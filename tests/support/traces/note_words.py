"""What the words mean by which notes say how a dialog ended (one table; facts 2-26).

A word is read by rule, so that spellings do not count: `Page.close`, `page_close` and `closed by Page.close` are one.

* The name of a connection: that one answered.
* What follows a semicolon is a remark. What stands in brackets narrows what stands before them, where it is a word itself.
* `a or b` is one of both.

A word that no row of the table speaks of is `None`: who judges has to say so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import reduce

import attrs


@attrs.frozen
class Meaning:
    """What a word says of a dialog to a connection that was told of its opening.

    `ours`: this connection answered it, True or False, None where the word does not tell. `reasons`: what the machine may
    say where it was somebody else; empty where nobody is told of the end. `causes`: what must have been told to some
    connection, one of these; empty where nothing is (`reference.causes`).
    """

    ours: bool | None
    reasons: frozenset[str]
    causes: frozenset[str] = frozenset()
    untold: bool = False
    """The dialog may have been opened and ended without a word to anybody."""

    def or_else(self, other: Meaning) -> Meaning:
        """One of both."""
        return Meaning(
            self.ours if self.ours == other.ours else None,
            self.reasons | other.reasons,
            self.causes | other.causes if self.causes and other.causes else frozenset(),
            self.untold or other.untold,
        )

    def narrowed(self, other: Meaning | None) -> Meaning:
        """Both."""
        if other is None or other.ours != self.ours or not self.reasons & other.reasons:
            return self
        return attrs.evolve(
            self, reasons=self.reasons & other.reasons, causes=self.causes & other.causes or self.causes or other.causes
        )


ELSEWHERE = frozenset(("closed_elsewhere", "other_client"))
NAVIGATED = frozenset(("navigation", "closed_elsewhere", "frame_gone"))
"""Of a navigation that was not its own the machine sees that the dialog closed, or that its frame is another."""
TARGET = frozenset(("closed_elsewhere", "target_gone", "unconfirmed"))
FRAME = frozenset(("frame_gone", "closed_elsewhere", "navigation"))
SUPERSEDED = frozenset(("superseded", "closed_elsewhere", "frame_gone"))
STUCK = frozenset(("orphaned", "unseen", "page_inactive", "superseded"))
ANY = ELSEWHERE | NAVIGATED | TARGET | STUCK

ENDS = r"clos\w*|dispos\w*|destroy\w*|gone|kill\w*|exit\w*|quit"

ANSWERED = Meaning(True, ELSEWHERE)
ANOTHER = Meaning(False, ELSEWHERE, frozenset(("another",)))
NO_MORE_TOLD = Meaning(False, frozenset(), frozenset(("end of session",)))

TABLE: tuple[tuple[str, Meaning], ...] = (
    (r".*\b(failed|refused)\b.*", Meaning(False, ANY)),
    (r"(agent|us|we|ours?|our own|our answer|supervisor|answered|auto policy|policy|watchdog)\b.*", ANSWERED),
    (r".*\bhandled?( java ?script dialog)?\b.*", ANSWERED),
    (r".*\bsupersed\w*.*", Meaning(False, SUPERSEDED, frozenset(("superseded",)))),
    (r"orphaned", Meaning(False, frozenset(("orphaned", "closed_elsewhere")))),
    (r"unseen|page inactive|inactive page", Meaning(False, STUCK | {"closed_elsewhere"}, untold=True)),
    (r"unconfirmed", Meaning(False, frozenset(("unconfirmed", *ELSEWHERE)))),
    (
        r"auto\w*\b.*|.*\bauto ?dismiss\w*.*|(browser|chrome|platform)( itself)?( dismiss\w*)?|headless.*|suppressed.*",
        Meaning(False, ANY, untold=True),
    ),
    (r"nobody|none|not closed|still open|open|never( closed)?", Meaning(False, ANY, untold=True)),
    (r"(sub)?frame (gone|removed|detached|removal)|(removal|removed)\b.*\bframe.*", Meaning(False, FRAME)),
    (r"detach\w*\b.*|session (gone|detached|lost|ended)", NO_MORE_TOLD),
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
    (r"window closed?", Meaning(None, TARGET, frozenset(("end of target",)))),  # tried: its scripts wait (fact 15)
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
"""By the whole of a word, in this order."""


def meaning_of(word: str, conn: str, connections: Iterable[str]) -> Meaning | None:
    """What a word says to a connection; None where it is none of the table."""
    names = {plain(each): each for each in connections}
    body = word.partition(";")[0]
    inside = " ".join(re.findall(r"\(([^()]*)\)", body))
    body = re.sub(r"\([^()]*\)", " ", body)
    meanings = [one_meaning(each, conn, names) for each in re.split(r"\bor\b|/|\|", plain(body))]
    known = [each for each in meanings if each is not None]
    if not known or len(known) < len(meanings):
        return None
    whole = reduce(Meaning.or_else, known)
    return whole.narrowed(one_meaning(plain(inside), conn, names)) if inside else whole


def one_meaning(text: str, conn: str, names: dict[str, str]) -> Meaning | None:
    text = without_preface(text)
    if text in names:
        return ANSWERED if names[text] == conn else ANOTHER
    return next((meaning for pattern, meaning in TABLE if re.fullmatch(pattern, text)), None)


def named(word: object, connections: Iterable[str]) -> str | None:
    """The connection that a word names."""
    names = {plain(each): each for each in connections}
    return names.get(without_preface(plain(word))) if isinstance(word, str) else None


def without_preface(text: str) -> str:
    text = re.sub(r"^((closed|settled|answered) )?by ", "", text.strip())
    return re.sub(r"^((the|an?|its|our) )?((client|connection|conn) (?=\w))?", "", text)


def plain(text: str) -> str:
    """Small letters, words apart, and nothing that only joins them."""
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return re.sub(r"[\s_.\-,:'\"]+", " ", text).strip().lower()
