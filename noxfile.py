"""Every supported Python, and the longer checks. `nox -l` lists them."""

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
    """Style and layers."""
    session.install("-e", ".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")
    session.run("python", "tools/index_cards.py", "--check")


@nox.session(python=NEWEST)
def types(session: nox.Session) -> None:
    """Both type checkers, strict."""
    session.install("-e", ".[dev]")
    session.run("mypy")
    session.run("pyright")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The suite; live tests too where there is a Chromium."""
    session.install(".[dev]")
    session.run("pytest", *(session.posargs or ["-q"]))


@nox.session(python="3.10")
def oldest(session: nox.Session) -> None:
    """The suite on the lowest versions that are promised."""
    session.install(".[dev]", "-c", "tools/oldest.txt")
    session.run("pytest", "-q", *PURE)


@nox.session(python=NEWEST)
def ecosystem(session: nox.Session) -> None:
    """Other people's clients at the fake's address; wants node and npm."""
    folder = session.create_tmp()
    session.install(".[dev]", "-r", "tests/ecosystem/requirements.txt")
    shutil.copy("tests/ecosystem/package.json", folder)
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"]
    session.run("npm", "install", "--prefix", folder, *options, external=True)
    session.run("pytest", "-q", "-p", "no:asyncio", "tests/ecosystem", env={"CI": "1", "CDP_CLIENTS_NODE": folder})


@nox.session(python=NEWEST)
def coverage(session: nox.Session) -> None:
    """Each pure module is covered completely by its own test file: one run, told apart by dynamic contexts."""
    session.install("-e", ".[dev]")
    session.run("python", "tools/own_coverage.py")


@nox.session(python=NEWEST)
def bindings(session: nox.Session) -> None:
    """The bindings are what the pinned protocol gives; with arguments, generate them (see tools/gen_bindings.py)."""
    session.install("-e", ".[dev]")
    session.run("python", "tools/gen_bindings.py", *(session.posargs or ["--check"]))


@nox.session(python=NEWEST)
def deep(session: nox.Session) -> None:
    """A long hunt with Hypothesis; each right client meets 5,000 examples of each kind (tests/testing/test_fuzz_search.py)."""
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
def soak(session: nox.Session) -> None:
    """A long run of the supervisor on a real Chromium: dialogs, frames, cut links; some minutes."""
    session.install(".[dev]")
    session.run("python", "tools/soak.py", *session.posargs)


@nox.session(python=NEWEST)
def bench(session: nox.Session) -> None:
    """Side by side with other clients; wants an otherwise idle machine."""
    session.run("bash", "tools/bench/setup.sh", external=True)
    session.run(
        shutil.which("python3") or "python3", "tools/bench/run.py", "--check", external=True, env=dict(os.environ)
    )
