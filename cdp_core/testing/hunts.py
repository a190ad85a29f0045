"""Looks for an example that a client does wrong, and shrinks it to the least of its kind.

    found = hunt(MyClient, runs=500)
    if found is not None:
        print(found)                       # the complaints, and the Python that shows them again
        assert try_example(MyClient, found.example) == found.complaints

A client here is pure (`pump.PureClient`): it takes messages and gives messages. Where it has `observed()`, what it says is
compared with the truth as well (`judge.py`). Hypothesis makes the examples, shrinks them, and keeps those that failed in
its database, which a fleet may share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import attrs

from cdp_core.sansio.wire import Json
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.streams import EDGES, Edges
from cdp_core.testing.fake.world import PROFILES, Profile
from cdp_core.testing.judge import Complaint, judge
from cdp_core.testing.pump import Pump, PureClient
from cdp_core.testing.steps import Script

if TYPE_CHECKING:
    from hypothesis.database import ExampleDatabase
    from hypothesis.strategies import SearchStrategy

__all__ = ["Example", "Find", "examples_of", "hunt", "hunt_with", "try_example"]

MOST_SEEDS: Final = 2**32
MOST_SHRINKS: Final = 2000


@attrs.frozen(kw_only=True)
class Example:
    """What a client is put to."""

    script: Script = attrs.Factory(Script)
    seed: int = 0
    """Of the order in which everything happens."""
    edges: Edges = "observed"
    profile: Profile = "headless-new"


@attrs.frozen(kw_only=True)
class Find:
    """An example that a client does wrong: the least one that was found."""

    example: Example
    complaints: tuple[Complaint, ...]

    def __str__(self) -> str:
        lines = [f"- {complaint}" for complaint in self.complaints]
        return "\n".join(["the client does wrong:", *lines, "with", repr(self.example)])


def try_example(make_client: Callable[[], PureClient], example: Example) -> tuple[Complaint, ...]:
    """Put a new client to an example. What its own code raises is a complaint, too."""
    fake = FakeBrowser(example.script, profile=example.profile)
    client = make_client()
    try:
        run = Pump(fake, [client], seed=example.seed, edges=example.edges).run()
        observed = getattr(client, "observed", None)
        said: Json | None = None if observed is None else observed()
    except Exception as error:  # noqa: BLE001 - the client's own code
        return (Complaint(law="nothing-the-peer-sends-raises", fact=None, said=f"it raised {type(error).__name__}"),)
    complaints = judge(fake, said)
    if not run.quiet:
        never = Complaint(law="a-client-comes-to-rest", fact=None, said="it does not come to rest")
        return (*complaints, never)
    return complaints


def hunt(
    make_client: Callable[[], PureClient],
    *,
    runs: int = 200,
    edges: Edges | None = None,
    race_free: bool | None = None,
    database: ExampleDatabase | None = None,
) -> Find | None:
    """The least example of `runs` that the client does wrong; None where it does none wrong.

    Needs Hypothesis (the extra `testing`).
    """
    examples = examples_of(edges=edges, race_free=race_free)
    return hunt_with(lambda example: try_example(make_client, example), examples, runs=runs, database=database)


def examples_of(*, edges: Edges | None = None, race_free: bool | None = None) -> SearchStrategy[Example]:
    """Examples, as Hypothesis draws them."""
    from hypothesis import strategies as st  # noqa: PLC0415 - imports stay cheap

    from cdp_core.testing.strategies import scripts  # noqa: PLC0415 - imports stay cheap

    return st.builds(
        Example,
        script=scripts(race_free=race_free),
        seed=st.integers(0, MOST_SEEDS),
        edges=st.sampled_from(EDGES) if edges is None else st.just(edges),
        profile=st.sampled_from(PROFILES),
    )


def hunt_with(
    attempt: Callable[[Example], tuple[Complaint, ...]],
    examples: SearchStrategy[Example],
    *,
    runs: int,
    shrinks: int = MOST_SHRINKS,
    database: ExampleDatabase | None = None,
) -> Find | None:
    """The same, for any way of putting a client to an example; after the first find, at most `shrinks` more are tried."""
    from hypothesis import HealthCheck, Phase, find, settings  # noqa: PLC0415 - imports stay cheap
    from hypothesis.errors import NoSuchExample  # noqa: PLC0415 - imports stay cheap

    searched = settings(
        max_examples=runs,
        database=database,
        deadline=None,
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large),
        phases=(Phase.reuse, Phase.generate, Phase.shrink),
        derandomize=database is None,
    )
    key = None if database is None else b"cdp_core.testing.hunts"
    tried: dict[str, tuple[Complaint, ...]] = {}  # by what they print as
    left, found = shrinks, False

    def is_wrong(example: Example) -> bool:
        nonlocal left, found
        printed = repr(example)
        if printed not in tried:
            left -= found
            tried[printed] = () if left < 0 else attempt(example)
            found = found or bool(tried[printed])
        return bool(tried[printed])

    try:
        example = find(examples, is_wrong, settings=searched, database_key=key)
    except NoSuchExample:
        return None
    return Find(example=example, complaints=tried[repr(example)])
