"""The search for an example on which a pure client breaks a law, and the shrinking of that example.

    found = hunt(MyClient, runs=500)
    if found is not None:
        print(found)                       # the complaints, and the Python of the example
        assert try_example(MyClient, found.example) == found.complaints

A pure client (`simulation.PureClient`) takes messages and returns messages. If it has `observed()`, the result is compared
with the truth (observation.py). If it has `ask(question)`, it gets questions at any moment, as from a user, and carries
them out on session number `on`, counted in the order of attaching and modulo their number; 0 is the root session:

    {"on": 1, "method": "Runtime.evaluate", "params": {"expression": "act()"}}      send this command
    {"on": 1, "detach": true}                                                       detach this session, on its parent

Some examples have a second client: it connected before, saw a dialog on the first page, and answers it at any moment, so
that the tested client receives the end of that dialog alone (fact 18, second_client.py).

`hunt(MyClient, faults="legal")` injects faults as well: refusals, slow links, cuts (`faults.py`).

Hypothesis generates the examples, shrinks them, and keeps those that failed in its database, which several machines may
share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from random import Random
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.delivery_order import EDGES, Edges
from cdp_core.testing.fake.world import PROFILES, Profile
from cdp_core.testing.faults import LEGALITIES, Fault, Legality, checked_faults
from cdp_core.testing.judge.laws import LAWS, Complaint
from cdp_core.testing.judge.observation import judge
from cdp_core.testing.literal_values import one_of
from cdp_core.testing.schedules import Ask
from cdp_core.testing.second_client import add_second_client
from cdp_core.testing.simulation import Pump, PureClient
from cdp_core.testing.steps import Script, Step

if TYPE_CHECKING:
    from hypothesis.database import ExampleDatabase
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")
MAX_SEED: Final = 2**32
MAX_SHRINKS: Final = 2000
DRAWS: Final = 10
"""Draws from Hypothesis per example: of six examples that it generates, five are variants of the one before."""


def _to_asks(asks: Iterable[Json]) -> tuple[Json, ...]:
    return tuple(asks)


@attrs.frozen(kw_only=True)
class Example:
    """One input of a run: the script, the order of messages, the questions and the faults."""

    script: Script = attrs.Factory(Script)
    seed: int = 0
    """The seed of the order in which everything happens."""
    edges: Edges = attrs.field(default="observed", validator=one_of(EDGES))
    profile: Profile = attrs.field(default="headless-new", validator=one_of(PROFILES))
    asks: tuple[Json, ...] = attrs.field(default=(), converter=_to_asks, hash=False)
    """The questions for a client that has `ask`."""
    faults: tuple[Fault, ...] = attrs.field(default=(), converter=checked_faults)
    second_client: bool = False
    """Whether another client connected before."""


@attrs.frozen(kw_only=True)
class Find:
    """The smallest example of a complaint that a search found."""

    example: Example
    complaints: tuple[Complaint, ...]

    def __str__(self) -> str:
        lines = [f"- {complaint}" for complaint in self.complaints]
        laws = [f"  {law}: {LAWS[law]}" for law in {each.law: None for each in self.complaints} if law in LAWS]
        return "\n".join(["the client broke a law:", *lines, *laws, "with this example:", repr(self.example)])


def try_example(make_client: Callable[[], PureClient], example: Example) -> tuple[Complaint, ...]:
    """Run a new client on an example and judge it.

    An exception of the client is a complaint; an exception of the fake browser is raised.
    """
    fake = FakeBrowser(example.script, profile=example.profile, faults=example.faults)
    try:
        client = _GuardedClient(make_client)
        pump = Pump(fake, [], seed=example.seed, edges=example.edges, interrupt=True)
        answers = add_second_client(pump) if example.second_client else ()
        number = pump.join(client).number
        asks = [Ask(number, question) for question in example.asks] if client.can_be_asked else []
        pump.ask([each for pair in zip_longest(answers, asks) for each in pair if each is not None])
        run = pump.run()
        observed = client.observed()
    except _RaisedError as raised:
        message = f"the client raised {type(raised.__cause__).__name__}"
        return (Complaint(law="nothing-the-peer-sends-raises", fact=53, message=message),)
    complaints = judge(fake, observed, client=number, underway=True)
    if not run.quiet:
        restless = Complaint(law="a-client-comes-to-rest", fact=47, message="the client does not come to rest")
        return (*complaints, restless)
    return complaints


def nothing() -> tuple[bytes, ...]:
    """Return the output of a client that has no `start`."""
    return ()


class _RaisedError(Exception):
    """The client's own code raised; its exception is the cause."""


class _GuardedClient:
    """Wraps a client, so that its own exceptions differ from those of the fake browser."""

    def __init__(self, make_client: Callable[[], Any]) -> None:
        self._client = self._guarded(make_client)
        self.can_be_asked = hasattr(self._client, "ask")

    def start(self) -> list[bytes]:
        return self._checked_output(getattr(self._client, "start", nothing))

    def receive(self, payload: bytes, /) -> list[bytes]:
        return self._checked_output(self._client.receive, payload)

    def ask(self, question: Any, /) -> list[bytes]:
        return self._checked_output(self._client.ask, question)

    def observed(self) -> Json | None:
        observed = getattr(self._client, "observed", None)
        return None if observed is None else self._guarded(observed)

    def _checked_output(self, act: Callable[..., Iterable[bytes]], *given: Any) -> list[bytes]:
        written: list[bytes] = self._guarded(lambda: list(act(*given)))
        odd: list[Any] = [each for each in written if type(each) is not bytes]
        if odd:
            raise _RaisedError from TypeError(f"The client wrote {odd[0]!r}; it must write bytes.")
        return written

    def _guarded(self, act: Callable[[], Any]) -> Any:
        try:
            return act()
        except Exception as error:
            raise _RaisedError from error


def hunt(
    make_client: Callable[[], PureClient],
    *,
    runs: int = 200,
    edges: Edges | None = None,
    race_free: bool | None = None,
    faults: Legality | None = None,
    database: ExampleDatabase | None = None,
    seed: int | None = None,
) -> Find | None:
    """Search `runs` examples for a broken law; return the smallest example of it, or None.

    `faults` is the worst legality of faults to inject; None injects none. The `seed` fixes the examples; without it they
    are the same each time, or random if there is a `database`. Needs Hypothesis (the extra `testing`).
    """
    examples = examples_of(edges=edges, race_free=race_free, asked=hasattr(make_client(), "ask"), faults=faults)
    attempt = partial(try_example, make_client)
    return hunt_with(attempt, examples, runs=runs, database=database, seed=seed)


def examples_of(
    *,
    edges: Edges | None = None,
    race_free: bool | None = None,
    asked: bool = True,
    faults: Legality | None = None,
    streams: bool = False,
) -> SearchStrategy[Example]:
    """Return a Hypothesis strategy for examples; they have questions only with `asked`.

    `faults` is the worst legality of faults to inject; with `streams`, also faults of byte streams.
    Raises InvalidArgument.
    """
    for what, given, known in (("edges", edges, EDGES), ("faults", faults, LEGALITIES)):
        if given is not None and given not in known:
            absent = "None for any" if what == "edges" else "None for no faults"
            raise InvalidArgument(f"{what} must be one of {', '.join(known)}, or {absent}, not {given!r}.")
    from hypothesis import strategies as st  # noqa: PLC0415 - imports stay cheap

    from cdp_core.testing import strategies  # noqa: PLC0415 - imports stay cheap

    scripts, questions = strategies.scripts, strategies.questions
    legalities = LEGALITIES[: LEGALITIES.index(faults) + 1] if faults is not None else ()

    return st.builds(
        Example,
        script=st.booleans().flatmap(lambda value: scripts(race_free=value))
        if race_free is None
        else scripts(race_free=race_free),
        seed=st.integers(1, MAX_SEED),
        edges=st.sampled_from(EDGES) if edges is None else st.just(edges),
        profile=st.sampled_from(PROFILES),
        asks=questions() if asked else st.just(()),
        faults=strategies.faults(*legalities, streams=streams) if legalities else st.just(()),
        second_client=st.just(False) if legalities or streams else st.integers(0, 4).map(lambda number: number == 4),
    )


def hunt_with(
    attempt: Callable[[Example], tuple[Complaint, ...]],
    examples: SearchStrategy[Example],
    *,
    runs: int,
    shrinks: int = MAX_SHRINKS,
    database: ExampleDatabase | None = None,
    seed: int | None = None,
) -> Find | None:
    """Search as `hunt` does, but call `attempt` for each example.

    After the first find at most `shrinks` more examples are tried.
    """
    from hypothesis import HealthCheck, Phase, find, settings  # noqa: PLC0415 - imports stay cheap
    from hypothesis.errors import NoSuchExample  # noqa: PLC0415 - imports stay cheap

    searched = settings(
        max_examples=DRAWS * runs,
        database=database,
        deadline=None,
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large),
        phases=(Phase.reuse, Phase.generate, Phase.shrink),
        derandomize=database is None and seed is None,
    )
    key = None if database is None else b"cdp_core.testing.fuzz.search"
    tried: dict[str, tuple[Complaint, ...]] = {}  # by the repr of the example
    seeds: set[int] = set()
    left, found = shrinks, False

    def is_wrong(example: Example) -> bool:
        nonlocal left, found
        printed = repr(example)
        if printed not in tried:
            if found:
                left -= 1
            elif len(tried) >= runs or example.seed in seeds:  # a variant of another example has the same seed
                return False
            seeds.update([example.seed] if example.seed else ())  # 0 if the strategy draws no seed
            tried[printed] = () if left < 0 else attempt(example)
            found = found or bool(tried[printed])
        return bool(tried[printed])

    try:
        chance = None if seed is None else Random(seed)  # noqa: S311 - for examples, not for secrets
        example = find(examples, is_wrong, settings=searched, random=chance, database_key=key)
    except NoSuchExample:
        return None
    example = shrunk(example, is_wrong)
    return Find(example=example, complaints=tried[repr(example)])


# ── shrinking ────────────────────────────────────────────────────────────────────────────────────────────────────────


def shrunk(example: Example, is_wrong: Callable[[Example], bool]) -> Example:
    """Leave out parts of an example while it stays wrong, until no part can be left out.

    Hypothesis removes only what it drew; this removes any part of the example.
    """
    simpler = next(filter(is_wrong, _simpler(example)), None)
    while simpler is not None:
        example = simpler
        simpler = next(filter(is_wrong, _simpler(example)), None)
    return example


def _simpler(example: Example) -> Iterator[Example]:
    """Yield the example without one of its parts, or all parts of a kind; largest omission first."""
    script = example.script
    if len(example.faults) > 1:
        yield attrs.evolve(example, faults=())
    if len(example.asks) > 1:
        yield attrs.evolve(example, asks=())
    for part in ("pages", "answers"):
        if len(getattr(script, part)) > 1:
            yield from _with_script(example, **{part: {}})
    half = len(script.timeline) // 2
    for timeline in (script.timeline[:half], script.timeline[half:]) if half > 1 else ():
        yield from _with_script(example, timeline=timeline)
    yield from _with_less(example)
    yield from _with_smaller_script(example)


def _with_less(example: Example) -> Iterator[Example]:
    if example.second_client:
        yield attrs.evolve(example, second_client=False)
    for number in range(len(example.faults)):
        yield attrs.evolve(example, faults=_without(example.faults, number))
    for number in range(len(example.asks)):
        yield attrs.evolve(example, asks=_without(example.asks, number))


def _with_smaller_script(example: Example) -> Iterator[Example]:
    script = example.script
    for url in script.pages:
        yield from _with_script(example, pages={each: made for each, made in script.pages.items() if each != url})
    for expression in script.answers:
        rest = {each: known for each, known in script.answers.items() if each != expression}
        yield from _with_script(example, answers=rest)
    for timeline in _shorter(script.timeline):
        yield from _with_script(example, timeline=timeline)
    for url, steps in script.pages.items():
        for shorter in _shorter(steps):
            yield from _with_script(example, pages={**script.pages, url: shorter})
    for expression, answer in script.answers.items():
        for shorter in _shorter(answer.steps):
            changed = {**script.answers, expression: attrs.evolve(answer, steps=shorter)}
            yield from _with_script(example, answers=changed)


def _shorter(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    for number in reversed(range(len(steps))):
        yield _without(steps, number)


def _without(parts: tuple[T, ...], number: int) -> tuple[T, ...]:
    return (*parts[:number], *parts[number + 1 :])


def _with_script(example: Example, **parts: Any) -> Iterator[Example]:
    """Yield the example with other script parts; yield nothing if a remaining step needs a removed one."""
    with suppress(InvalidArgument):
        yield attrs.evolve(example, script=attrs.evolve(example.script, **parts))
