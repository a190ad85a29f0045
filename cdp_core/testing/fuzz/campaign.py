"""A campaign: the search for each law that a client program breaks, with the smallest example.

A find does not end the campaign: its laws are known from then on, and the search continues for other laws. Hypothesis
generates the examples. It keeps those that failed in its database (a folder, or a Redis that several machines share) under
the client's name, and the next campaign on any of these machines tries them first.

A campaign can be split into shards: each tries its own share of the examples, generated from another seed. With a database
Hypothesis accepts no seed, and each shard searches at random.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

import attrs

from cdp_core.errors import InvalidArgument
from cdp_core.testing.fuzz.program import NEVER_CONNECTS, Outcome
from cdp_core.testing.fuzz.search import DRAWS, Example, Find, shrunk
from cdp_core.testing.judge.laws import Complaint

if TYPE_CHECKING:
    from hypothesis import settings
    from hypothesis.database import ExampleDatabase
    from hypothesis.strategies import SearchStrategy

DATABASE_KEY: Final = "cdp_core.testing fuzz"


@attrs.frozen
class Shard:
    """One of the parts of a campaign: number K of N."""

    number: int = 1
    of: int = 1

    @classmethod
    def from_text(cls, text: str) -> Shard:
        """Read `K/N`. Raises InvalidArgument."""
        match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise InvalidArgument(f"{text!r} is not a shard; write 3/8 for the third of eight.")
        return cls(int(match[1]), int(match[2]))

    def share(self, runs: int) -> int:
        """Return how many of all runs this shard makes."""
        return runs // self.of + (self.number <= runs % self.of)


@attrs.frozen(kw_only=True)
class CampaignFind:
    """A find, with the outcome of the run that showed it."""

    find: Find
    outcome: Outcome
    tried: int
    """The number of examples tried so far, shrinking included."""


def open_database(where: str | None) -> ExampleDatabase | None:
    """Open the database in a folder or at a redis:// address; None stays None.

    Raises InvalidArgument if the database cannot be used.
    """
    if where is None:
        return None
    if re.match(r"rediss?://|unix://", where):
        return _open_redis(where)
    from hypothesis.database import DirectoryBasedExampleDatabase  # noqa: PLC0415 - imports stay cheap

    try:
        Path(where).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgument(
            f"The database folder {where!r} cannot be made ({error.strerror}); give another folder."
        ) from None
    return DirectoryBasedExampleDatabase(where)


def _open_redis(where: str) -> ExampleDatabase:
    try:
        from hypothesis.extra.redis import RedisExampleDatabase  # noqa: PLC0415 - imports stay cheap
        from redis import Redis, RedisError  # noqa: PLC0415 - imports stay cheap
    except ImportError:
        raise InvalidArgument("A database at a redis:// address needs Redis; install hypothesis[redis].") from None
    try:
        redis = Redis.from_url(where)  # pyright: ignore[reportUnknownMemberType]
        redis.ping()  # pyright: ignore[reportUnknownMemberType]
    except (RedisError, ValueError) as error:
        raise InvalidArgument(
            f"The Redis database does not answer ({type(error).__name__}); check its address."
        ) from None
    return RedisExampleDatabase(redis)


class Campaign:
    """One search. `attempt` runs the program on an example; `tried` counts the examples so far.

    for found in Campaign(attempt, examples, runs=200).finds(): ...
    """

    def __init__(
        self,
        attempt: Callable[[Example], Outcome],
        examples: SearchStrategy[Example],
        *,
        runs: int,
        shrinks: int = 60,
        seed: int = 0,
        shard: Shard = Shard(),
        database: ExampleDatabase | None = None,
        name: str = "",
    ) -> None:
        self.tried = 0
        self._attempt = attempt
        self._examples = examples
        self._runs = shard.share(runs)
        self._shrinks = shrinks
        self._seed = seed * shard.of + shard.number
        self._database = database
        self._name = name
        # The outcome of each example, by its repr: each example is tried once.
        self._outcomes: dict[str, Outcome] = {}
        # The laws that the client is known to break.
        self._known: set[str] = set()

    def finds(self) -> Iterator[CampaignFind]:
        """Search, and yield each find as soon as it is made."""
        while self._runs and NEVER_CONNECTS not in self._known:  # a client that never connects breaks no other law
            found = self._find_next()
            if found is None:
                return
            self._known.update(complaint.law for complaint in found.find.complaints)
            yield found

    def _find_next(self) -> CampaignFind | None:
        from hypothesis import find  # noqa: PLC0415 - imports stay cheap
        from hypothesis.errors import NoSuchExample  # noqa: PLC0415 - imports stay cheap

        left = self._shrinks // 2
        wanted: frozenset[str] = frozenset()
        searched: set[str] = set()
        seeds: set[int] = set()

        def is_wrong(example: Example) -> bool:
            """Once a find is made, only its own laws count: shrinking must not turn it into another find."""
            nonlocal left, wanted
            if wanted and repr(example) not in self._outcomes:
                left -= 1
                if left < 0 or NEVER_CONNECTS in wanted:
                    return False
            if not wanted and repr(example) not in searched:
                if len(searched) >= self._runs or example.seed in seeds:  # a variant of another example (search.DRAWS)
                    return False
                searched.add(repr(example))
                seeds.update([example.seed] if example.seed else ())
            new = self._laws_of(example) - self._known
            wanted = wanted or frozenset(new)
            return bool(new & wanted)

        key = "\0".join([DATABASE_KEY, self._name, *sorted(self._known)]).encode("utf-8", "replace")
        try:
            # Hypothesis does not use its database if it is given a random generator.
            chance = Random(self._seed) if self._database is None else None  # noqa: S311 - no secrets
            example = find(self._examples, is_wrong, settings=self._settings(), random=chance, database_key=key)
        except NoSuchExample:
            return None
        # Leaving out whole parts often succeeds at once where Hypothesis needs many tries: each gets half of them.
        left = max(left, 0) + self._shrinks - self._shrinks // 2
        example = shrunk(example, is_wrong)
        outcome = self._outcomes[repr(example)]
        complaints = tuple(each for each in outcome.complaints if each.law not in self._known)
        return CampaignFind(find=Find(example=example, complaints=complaints), outcome=outcome, tried=self.tried)

    def _settings(self) -> settings:
        import hypothesis  # noqa: PLC0415 - imports stay cheap

        check = hypothesis.HealthCheck
        return hypothesis.settings(
            max_examples=DRAWS * self._runs,
            database=self._database,
            deadline=None,
            suppress_health_check=(check.too_slow, check.filter_too_much, check.data_too_large),
            phases=(hypothesis.Phase.reuse, hypothesis.Phase.generate, hypothesis.Phase.shrink),
        )

    def _laws_of(self, example: Example) -> set[str]:
        printed = repr(example)
        if printed not in self._outcomes:
            self.tried += 1
            self._outcomes[printed] = self._attempt(example)
        complaints: tuple[Complaint, ...] = self._outcomes[printed].complaints
        return {complaint.law for complaint in complaints}
