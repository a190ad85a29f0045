"""Looks for an example that a client does wrong, and shrinks it to the least of its kind.

    found = hunt(MyClient, runs=500)
    if found is not None:
        print(found)                       # the complaints, and the Python that shows them again
        assert try_example(MyClient, found.example) == found.complaints

A client here is pure (`pump.PureClient`): it takes messages and gives messages. Where it has `observed()`, what it says is
compared with the truth as well (`observation.py`). Where it has `ask(question)`, it is asked things at any moment, as a user
would, and carries them out on the n-th of its sessions, round again; the 0th is the browser's own:

    {"on": 1, "method": "Runtime.evaluate", "params": {"expression": "act()"}}      a command to send
    {"on": 1, "detach": true}                                                       leave this session, from the one above

Some examples have company: another client was there before, saw a dialog on the first page, and answers it when it likes,
so that ours hears of its end alone (fact 18, second_client.py).

With `hunt(MyClient, faults="legal")` something may go wrong on purpose as well: refusals, slow links, cuts (`faults.py`).

Hypothesis makes the examples, shrinks them, and keeps those that failed in its database, which a fleet may share.
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
"""How often Hypothesis is asked for each example: of six that it gives, five are made of the one before."""


def _to_asks(asks: Iterable[Json]) -> tuple[Json, ...]:
    return tuple(asks)


@attrs.frozen(kw_only=True)
class Example:
    """What a client is put to."""

    script: Script = attrs.Factory(Script)
    seed: int = 0
    """Of the order in which everything happens."""
    edges: Edges = attrs.field(default="observed", validator=one_of(EDGES))
    profile: Profile = attrs.field(default="headless-new", validator=one_of(PROFILES))
    asks: tuple[Json, ...] = attrs.field(default=(), converter=_to_asks, hash=False)
    """What the client is asked, where it has `ask`."""
    faults: tuple[Fault, ...] = attrs.field(default=(), converter=checked_faults)
    """What goes wrong on purpose."""
    second_client: bool = False
    """Whether another client was there before."""


@attrs.frozen(kw_only=True)
class Find:
    """An example that a client does wrong: the least one that was found."""

    example: Example
    complaints: tuple[Complaint, ...]

    def __str__(self) -> str:
        lines = [f"- {complaint}" for complaint in self.complaints]
        laws = [f"  {law}: {LAWS[law]}" for law in {each.law: None for each in self.complaints} if law in LAWS]
        return "\n".join(["the client does wrong:", *lines, *laws, "with", repr(self.example)])


def try_example(make_client: Callable[[], PureClient], example: Example) -> tuple[Complaint, ...]:
    """Put a new client to an example. What its own code raises is a complaint, too; what the fake raises is raised."""
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
        message = f"it raised {type(raised.__cause__).__name__}"
        return (Complaint(law="nothing-the-peer-sends-raises", fact=53, message=message),)
    complaints = judge(fake, observed, client=number, underway=True)
    if not run.quiet:
        never = Complaint(law="a-client-comes-to-rest", fact=47, message="it does not come to rest")
        return (*complaints, never)
    return complaints


def nothing() -> tuple[bytes, ...]:
    """What a client writes at first that does not begin."""
    return ()


class _RaisedError(Exception):
    """A client's own code raised what is its cause."""


class _GuardedClient:
    """A client of which it is known what it raised itself."""

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
            raise _RaisedError from TypeError(f"{odd[0]!r} is written, and not bytes")
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
    """The least example of `runs` that the client does wrong; None where it does none wrong.

    Nothing goes wrong on purpose, or what is of that legality at worst. The examples are those of the `seed`; without one
    always the same, and with a `database` always others. Needs Hypothesis (the extra `testing`).
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
    """Examples, as Hypothesis draws them; without asks where the client cannot be `asked`.

    `faults` is the worst legality of what goes wrong; with `streams`, over a stream of octets.
    """
    for what, given, known in (("edges", edges, EDGES), ("faults", faults, LEGALITIES)):
        if given is not None and given not in known:
            raise InvalidArgument(f"{given!r} is no {what}; there are {', '.join(known)}, or None for any, or none.")
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
    """The same, for any way of putting a client to an example; after the first find, at most `shrinks` more are tried."""
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
    tried: dict[str, tuple[Complaint, ...]] = {}  # by what they print as
    seeds: set[int] = set()
    left, found = shrinks, False

    def is_wrong(example: Example) -> bool:
        nonlocal left, found
        printed = repr(example)
        if printed not in tried:
            if found:
                left -= 1
            elif len(tried) >= runs or example.seed in seeds:  # one that was made of another has its seed
                return False
            seeds.update([example.seed] if example.seed else ())  # 0 where nobody draws any
            tried[printed] = () if left < 0 else attempt(example)
            found = found or bool(tried[printed])
        return bool(tried[printed])

    try:
        chance = None if seed is None else Random(seed)  # noqa: S311 - of examples, not of secrets
        example = find(examples, is_wrong, settings=searched, random=chance, database_key=key)
    except NoSuchExample:
        return None
    example = shrunk(example, is_wrong)
    return Find(example=example, complaints=tried[repr(example)])


# ── smaller ones ─────────────────────────────────────────────────────────────────────────────────────────────────────


def shrunk(example: Example, is_wrong: Callable[[Example], bool]) -> Example:
    """What is still wrong when nothing more can be taken away: Hypothesis takes away what it drew, this what there is."""
    simpler = next(filter(is_wrong, _simpler(example)), None)
    while simpler is not None:
        example = simpler
        simpler = next(filter(is_wrong, _simpler(example)), None)
    return example


def _simpler(example: Example) -> Iterator[Example]:
    """The same without one of its parts, or all of a kind; what leaves out most stands first."""
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
    """Nothing where a step that is left needs what was taken away."""
    with suppress(InvalidArgument):
        yield attrs.evolve(example, script=attrs.evolve(example.script, **parts))
