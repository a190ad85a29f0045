"""Sessions for every supported Python, and the longer checks. `nox -l` lists them."""

from __future__ import annotations

import os
import shutil

import nox

nox.options.sessions = ["lint", "types", "tests"]
nox.options.reuse_existing_virtualenvs = True
PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14", "3.14t"]
NEWEST = "3.13"
ENGINE = ["tests/core"]
SUPERVISOR = ["tests/supervisor/laws", "tests/supervisor/traces", "tests/supervisor/trio"]
PURE = [*ENGINE, *SUPERVISOR, "tests/shape", "tests/cards"]


@nox.session(python=NEWEST)
def lint(session: nox.Session) -> None:
    """Check style, import layers and the cards."""
    session.install("-e", ".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")
    session.run("python", "tools/index_cards.py", "--check")


@nox.session(python=NEWEST)
def types(session: nox.Session) -> None:
    """Run both type checkers, strict."""
    session.install("-e", ".[dev]")
    session.run("mypy")
    session.run("pyright")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the suite, with the live tests if Chromium is installed."""
    session.install(".[dev]")
    session.run("pytest", *(session.posargs or ["-q"]))


@nox.session(python="3.10")
def oldest(session: nox.Session) -> None:
    """Run the pure tests on the lowest supported versions of the dependencies."""
    session.install(".[dev]", "-c", "tools/oldest.txt")
    session.run("pytest", "-q", *PURE)


@nox.session(python=NEWEST)
def ecosystem(session: nox.Session) -> None:
    """Run other projects' clients against the fake, and the examples; needs node, npm and Chromium."""
    folder = session.create_tmp()
    session.install(".[dev]", "-r", "tests/ecosystem/requirements.txt")
    shutil.copy("tests/ecosystem/package.json", folder)
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"]
    session.run("npm", "install", "--prefix", folder, *options, external=True)
    session.run("pytest", "-q", "-p", "no:asyncio", "tests/ecosystem", env={"CI": "1", "CDP_CLIENTS_NODE": folder})


@nox.session(python=NEWEST)
def coverage(session: nox.Session) -> None:
    """Check that each pure module is covered completely by its own test file, in one run with contexts."""
    session.install("-e", ".[dev]")
    session.run("python", "tools/own_coverage.py")


@nox.session(python=NEWEST)
def mutate(session: nox.Session) -> None:
    """Break the pure modules in many small ways, and see a test fail for each; arguments are those of the tool."""
    session.install("-e", ".[dev]")
    session.run("python", "tools/mutate.py", *session.posargs)


@nox.session(python=NEWEST)
def bindings(session: nox.Session) -> None:
    """Check the bindings against the pinned protocol; arguments are those of tools/gen_bindings.py."""
    session.install("-e", ".[dev]")
    session.run("python", "tools/gen_bindings.py", *(session.posargs or ["--check"]))


@nox.session(python=NEWEST)
def deep(session: nox.Session) -> None:
    """Run the long Hypothesis searches.

    Each correct client runs 5,000 examples of each kind (tests/testing/test_fuzz_search.py).
    """
    session.install(".[dev]")
    folders = [
        "tests/core/sansio",
        "tests/core/link",
        "tests/core/transports",
        "tests/supervisor/laws",
        "tests/testing",
    ]
    session.run("pytest", "-q", *folders, env={"HYPOTHESIS_PROFILE": "deep"})


@nox.session(python=NEWEST)
def long(session: nox.Session) -> None:
    """Run the live tests with the numbers of repetitions that their claims give, which take some minutes."""
    session.install(".[dev]")
    session.run("pytest", "-q", *(session.posargs or ["tests/live"]), env={"CI": "1", "CDP_LONG": "1"})


@nox.session(python=NEWEST)
def soak(session: nox.Session) -> None:
    """Run the supervisor on a real Chromium for some minutes: dialogs, frames, crashes, cut links."""
    session.install(".[dev]")
    session.run("python", "tools/soak.py", *session.posargs)
    for program in ("chromium", "chromium-headless-shell"):
        short = ("--dialogs", "60", "--frames", "100", "--cuts", "3")
        session.run("python", "tools/torture.py", "--program", program, *short)
    for mode in ("inactive", "removed"):
        session.run("python", "tools/torture.py", "--mode", mode)


@nox.session(python=NEWEST)
def bench(session: nox.Session) -> None:
    """Measure side by side with other clients; needs an otherwise idle machine."""
    session.run("bash", "tools/bench/setup.sh", external=True)
    session.run(
        shutil.which("python3") or "python3", "tools/bench/run.py", "--check", external=True, env=dict(os.environ)
    )
