"""`python -m cdp_core.testing fuzz`: its finds, output and files, shared failures, refused options."""

from __future__ import annotations

import gc
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from hypothesis import strategies as st

from cdp_core.errors import InvalidArgument
from cdp_core.testing import Answer, Script
from cdp_core.testing.__main__ import main
from cdp_core.testing.faults import Refuse
from cdp_core.testing.fuzz.campaign import Campaign, Shard, open_database
from cdp_core.testing.fuzz.program import Limits, Outcome
from cdp_core.testing.fuzz.search import Example, examples_of
from cdp_core.testing.judge.laws import Complaint
from cdp_core.testing.schedules import Consume, Schedule
from cdp_core.testing.steps import Console, Popup, ScriptError, Wait
from support import small_program

PROGRAM = Path(small_program.__file__)


def command(how: str) -> str:
    return f"{shlex.quote(sys.executable)} -S -E {shlex.quote(str(PROGRAM))} {{url}} {shlex.quote(how)}"


def fuzz(how: str, *more: str) -> int:
    return main(["fuzz", "--client", command(how), *more])


# ── the command ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_find_is_printed_saved_and_reproduced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = tmp_path / "found.json"
    assert fuzz("exits with 3", "--runs", "4", "--shrinks", "3", "--save", str(found)) == 1
    output = capsys.readouterr().out
    assert "the client exited with 3" in output
    assert "it happened again in 10 of 10 runs" in output
    assert f"--reproduce {found}" in output
    [written] = json.loads(found.read_text())
    assert written["again"] == 10
    assert written["script"].keys() == {"pages", "timeline", "answers"}
    assert fuzz("exits with 3", "--reproduce", str(found)) == 1
    assert "it happened in 10 of 10 runs" in capsys.readouterr().out
    assert fuzz("well", "--reproduce", f"{found}:1") == 0


def test_a_find_that_needs_a_fault_is_printed_saved_and_reproduced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options: list[dict[str, object]] = []

    def few(**how: object) -> st.SearchStrategy[Example]:
        options.append(how)
        return st.builds(Example, faults=st.sampled_from([(), (Refuse("Target.setAutoAttach"),)]))

    monkeypatch.setattr("cdp_core.testing.fuzz.command.examples_of", few)
    found = tmp_path / "found.json"
    save = ["--runs", "9", "--shrinks", "2", "--save", str(found)]
    assert fuzz("insists", *save, "--faults", "legal") == 1
    assert fuzz("well", *save, "--ask") == 0
    assert [(how["faults"], how["asked"], how["streams"]) for how in options] == [
        ("legal", False, True),
        (None, True, True),
    ]
    output = capsys.readouterr().out
    assert "faults=(Refuse('Target.setAutoAttach'),)" in output
    assert "it happened again in 10 of 10 runs" in output
    [written] = json.loads(found.read_text())
    assert (written["faults"][0]["fault"], written["asked"]) == ("Refuse", False)
    assert fuzz("insists", "--reproduce", str(found)) == 1
    assert "it happened in 10 of 10 runs" in capsys.readouterr().out


def test_reproducing_a_find_repeats_its_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[tuple[Example, bool]] = []

    def record(_client: str, example: Example, *, asked: bool, **_more: object) -> Outcome:
        tried.append((example, asked))
        return broken("x") if example.asks else broken()

    monkeypatch.setattr("cdp_core.testing.fuzz.command.try_program", record)
    save = ["--save", str(tmp_path / "found.json")]
    assert fuzz("well", "--runs", "9", *save) == 0
    assert not any(asked or example.asks or example.faults for example, asked in tried)
    assert fuzz("well", "--runs", "20", *save, "--ask") == 1
    tried.clear()
    assert fuzz("well", "--reproduce", save[1]) == 1
    assert all(asked and example.asks for example, asked in tried)
    assert len(tried) == 10


@pytest.mark.parametrize(
    "how",
    [
        [],
        ["--schedule", "observed", "--faults", "legal"],
        ["--schedule", "hostile", "--faults", "hostile", "--ask"],
        ["--shard", "2/3", "--faults", "illegal"],
    ],
)
def test_a_correct_client_has_no_finds(how: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert fuzz("well", "--runs", "3", "--save", str(tmp_path / "found.json"), *how) == 0
    assert "the client broke no law" in capsys.readouterr().out
    assert not (tmp_path / "found.json").exists()


def test_a_schedule_file_is_used_for_every_run(tmp_path: Path) -> None:
    (tmp_path / "schedule.json").write_text(json.dumps(Schedule((Consume(1, 2),)).to_json()))
    save = ["--save", str(tmp_path / "found.json")]
    assert fuzz("well", "--runs", "2", "--schedule", str(tmp_path / "schedule.json"), *save) == 0


GOOD: dict[str, object] = {"script": {"timeline": []}}


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("{", "is not a find"),
        ("[]", "is not a find"),
        ("{}", "is not a find"),
        ({"script": {"timeline": [{"step": "Jump"}]}}, "timeline[0] is not a step"),
        ({**GOOD, "seed": "x"}, "seed must be an integer"),
        ({**GOOD, "edges": "wild"}, "edges must be one of observed, causal"),
        ({**GOOD, "profile": "lynx"}, "profile must be one of headless-new"),
        ({**GOOD, "schedule": {"turns": [{"turn": "Jump"}]}}, "turns[0] is not a turn"),
        ({**GOOD, "decisions": 3}, "The decisions of"),
        ({**GOOD, "asks": {}}, "The asks of"),
        ({**GOOD, "faults": "all"}, "must be a list"),
        ({**GOOD, "faults": [{"fault": "Explode"}]}, "faults[0] is not a fault"),
        ({**GOOD, "decisions": [{"decision": "Jump"}]}, "decisions[0] is not a decision"),
    ],
)
def test_an_invalid_find_file_is_reported_in_one_line(
    tmp_path: Path, written: object, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "found.json"
    file.write_text(written if isinstance(written, str) else json.dumps(written))
    assert fuzz("well", "--reproduce", str(file)) == 2
    output = capsys.readouterr().err
    assert words in output
    assert output.count("\n") == 1


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--schedule", "/no/such"], "observed, hostile, or a FILE"),
        (["--shard", "0/3"], "write 3/8 for the third of eight"),
        (["--shard", "4/3"], "write 3/8 for the third of eight"),
        (["--database", "/proc/none"], "cannot be made"),
        (["--database", "redis://127.0.0.1:1/0"], "does not answer"),
        (["--reproduce", "/no/such"], "cannot be read"),
    ],
)
def test_an_option_that_cannot_be_used_is_reported_in_one_line(
    more: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fuzz("well", "--runs", "1", *more) == 2
    output = capsys.readouterr().err
    assert words in output
    assert output.count("\n") == 1


def test_a_missing_program_and_a_command_without_url_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--client", "/no/such/program {url}"]) == 2
    assert "/no/such/program" in capsys.readouterr().err
    assert main(["fuzz", "--client", "true"]) == 2
    assert "{url}" in capsys.readouterr().err


# ── campaigns ────────────────────────────────────────────────────────────────────────────────────────────────────────


def broken(*laws: str) -> Outcome:
    return Outcome(complaints=tuple(Complaint(law=law, fact=7, message=law) for law in laws), decisions=())


def attempt(example: Example) -> Outcome:
    """Break the law "high" for seeds of 10 and more, and "odd" for odd seeds."""
    return broken(*["high"] * (example.seed >= 10), *["odd"] * (example.seed % 2))


EXAMPLES = st.builds(Example, seed=st.integers(0, 1000))


def test_a_campaign_continues_after_a_find_and_shrinks_each_law_on_its_own() -> None:
    campaign = Campaign(attempt, EXAMPLES, runs=60, shrinks=500)
    found = {report.find.complaints[0].law: report.find.example.seed for report in campaign.finds()}
    assert found == {"high": 10, "odd": 1}


def test_unneeded_parts_of_a_find_are_removed_in_a_few_tries() -> None:
    """Hypothesis alone would need many more tries than these."""

    def attempt(example: Example) -> Outcome:
        return broken(*["popup"] * any(isinstance(step, Popup) for step in example.script.timeline))

    long = Script(
        pages={"https://shop.example/": (Console("a"),)},
        timeline=(Wait(1), Console("a"), Popup("new"), Wait(1), Console("b"), ScriptError("c")),
        answers={"act()": Answer(1, (Console("d"),))},
    )
    campaign = Campaign(attempt, st.builds(Example, script=st.just(long)), runs=1, shrinks=30)
    [report] = campaign.finds()
    assert report.find.example.script == Script(timeline=(Popup("new"),))
    assert campaign.tried <= 31


def test_a_client_that_never_connects_is_tried_once() -> None:
    campaign = Campaign(lambda _example: broken("a-client-connects"), EXAMPLES, runs=500)
    assert [report.find.complaints[0].law for report in campaign.finds()] == ["a-client-connects"]
    assert campaign.tried == 1


def test_a_campaign_tries_the_requested_number_of_different_examples() -> None:
    tried: list[Example] = []

    def record(example: Example) -> Outcome:
        tried.append(example)
        return broken()

    for runs in (1, 25):
        tried.clear()
        campaign = Campaign(record, examples_of(streams=True), runs=runs)
        assert list(campaign.finds()) == []
        assert len(tried) == len({each.seed for each in tried}) == campaign.tried == runs


def test_unvisited_documents_are_removed_in_one_try() -> None:
    def attempt(example: Example) -> Outcome:
        return broken(*["popup"] * any(isinstance(step, Popup) for step in example.script.timeline))

    pages = {f"https://{name}.example/": (Console(name), ScriptError(name)) for name in "abcdefgh"}
    long = Script(pages=pages, timeline=(Wait(1), Popup("new")))
    campaign = Campaign(attempt, st.builds(Example, script=st.just(long)), runs=1, shrinks=8)
    [report] = campaign.finds()
    assert report.find.example.script == Script(timeline=(Popup("new"),))


@pytest.mark.parametrize(
    ("law", "limit", "before", "after"),
    [
        ("nothing-waits-for-ever", "ending", 10.0, 1.0),
        ("a-client-reads", "patience", 5.0, 1.0),
        ("a-client-comes-to-rest", "whole", 60.0, 10.0),
    ],
)
def test_a_time_limit_is_waited_out_only_once(
    law: str, limit: str, before: float, after: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    def record(_client: str, _example: Example, *, limits: Limits, **_more: object) -> Outcome:
        waited.append(getattr(limits, limit))
        return broken(law)

    monkeypatch.setattr("cdp_core.testing.fuzz.command.try_program", record)
    assert fuzz("stays", "--runs", "5", "--shrinks", "5", "--save", str(tmp_path / "found.json")) == 1
    assert waited[0] == before
    assert set(waited[1:]) == {after}
    assert len(waited) > 10, "the smallest example is run ten more times"


def test_a_program_that_ends_slowly_gets_more_time_than_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def record(_client: str, example: Example, *, limits: Limits, **_more: object) -> Outcome:
        given.append(limits.ending)
        return attrs.evolve(broken("nothing-waits-for-ever") if len(given) > 3 else broken(), ending=0.5)

    monkeypatch.setattr("cdp_core.testing.fuzz.command.try_program", record)
    monkeypatch.setattr("cdp_core.testing.fuzz.command.write_finds", lambda *_given: None)
    assert fuzz("stays", "--runs", "9", "--shrinks", "2") == 1
    assert (given[3], given[4]) == (10.0, 2.0)


def test_a_find_is_printed_before_it_is_repeated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    printed: list[str] = []

    def record(_client: str, _example: Example, **how: object) -> Outcome:
        if "decisions" in how:
            printed.append(capsys.readouterr().out)
        return broken("x")

    monkeypatch.setattr("cdp_core.testing.fuzz.command.try_program", record)
    fuzz("stays", "--runs", "1", "--shrinks", "1", "--save", str(tmp_path / "found.json"))
    assert "the client broke a law" in printed[0]
    assert "it happened again in 10 of 10 runs" in capsys.readouterr().out


def test_shards_share_the_runs_and_try_different_examples() -> None:
    assert [Shard(number, 3).share(100) for number in (1, 2, 3)] == [34, 33, 33]
    seen: list[set[int]] = []
    for number in (1, 2):
        tried: set[int] = set()

        def record(example: Example, tried: set[int] = tried) -> Outcome:
            tried.add(example.seed)
            return broken()

        assert list(Campaign(record, EXAMPLES, runs=60, shard=Shard(number, 2)).finds()) == []
        seen.append(tried)
    assert len(seen[0] & seen[1]) < 15
    with pytest.raises(InvalidArgument):
        Shard.from_text("1/0")


def rare(example: Example) -> Outcome:
    return broken("rare") if example.seed == 777 else broken()


def found_by(database: str, name: str = "client") -> list[int]:
    """Return the seeds that a campaign of a single example finds."""
    campaign = Campaign(rare, EXAMPLES, runs=1, database=open_database(database), name=name)
    return [report.find.example.seed for report in campaign.finds()]


def assert_failures_are_shared(database: str) -> None:
    """Assert that one campaign finds a failure by search and the next one takes it from the database.

    A client of another name does not share it.
    """
    assert found_by(database) == []
    only = st.builds(Example, seed=st.integers(0, 1000).map(lambda seed: 777 if seed else 0))
    [report] = Campaign(rare, only, runs=50, database=open_database(database), name="client").finds()
    assert report.find.example.seed == 777
    campaign = Campaign(rare, only, runs=1, database=open_database(database), name="client")
    assert [each.find.example.seed for each in campaign.finds()] == [777]
    assert found_by(database, "another") == []


def test_failures_are_shared_in_a_folder(tmp_path: Path) -> None:
    assert_failures_are_shared(str(tmp_path / "examples"))


@pytest.fixture
def redis_url(tmp_path: Path) -> Iterator[str]:
    """Run a real Redis, from Debian's packages, and yield its URL."""
    server = shutil.which("redis-server")
    if server is None:
        reason = "no redis-server; install the package of that name"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.02)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait()


def test_failures_are_shared_by_a_redis(redis_url: str) -> None:
    pytest.importorskip("redis")
    assert_failures_are_shared(redis_url)
    gc.collect()  # its connections are closed when they are collected
