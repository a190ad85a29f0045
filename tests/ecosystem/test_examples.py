"""The worked examples run unchanged, and they can fail."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cdp_core.testing.__main__ import main
from cdp_core.testing.faults import Refuse
from cdp_core.testing.fuzz.program import try_program
from cdp_core.testing.fuzz.search import Example
from cdp_core.testing.steps import Close, Popup, Script, Wait

EXAMPLES = Path(__file__).parents[2] / "examples"
INI = """[pytest]
filterwarnings = error
addopts = --strict-markers -p no:cacheprovider
asyncio_default_fixture_loop_scope = function
"""
Run = Callable[[list[str]], subprocess.CompletedProcess[str]]


def test_the_puppeteer_example_passes(node_folder: Path, run: Run) -> None:
    copied = shutil.copy(EXAMPLES / "puppeteer_dialogs.test.mjs", node_folder)
    printed = run(["node", "--test", "--test-reporter=tap", copied]).stdout
    assert "\n# pass 2\n" in printed
    assert "\n# fail 0\n" in printed


def test_a_wrong_answer_fails_the_puppeteer_example(node_folder: Path, run: Run) -> None:
    text = (EXAMPLES / "puppeteer_dialogs.test.mjs").read_text()
    wrong = node_folder / "wrong.test.mjs"
    wrong.write_text(text.replace(": dialog.dismiss()", ": dialog.accept()"))
    with pytest.raises(AssertionError, match=r"# fail 1\n"):
        run(["node", "--test", "--test-reporter=tap", "--test-name-pattern=its answer", str(wrong)])


def asyncio_pytest(python: str, example: Path, folder: Path) -> list[str]:
    ini = folder / "pytest.ini"
    ini.write_text(INI)
    plugins = ["-p", "no:trio", "-p", "no:cdp_core", "-p", "cdp_core_pytest"]
    return [python, "-m", "pytest", "-q", "-c", str(ini), *plugins, str(example)]


def test_the_cdp_use_example_passes(clients_python: Callable[..., str], run: Run, tmp_path: Path) -> None:
    python = clients_python("cdp_use", "pytest_asyncio", "trio")
    printed = run(asyncio_pytest(python, EXAMPLES / "test_cdp_use_dialogs.py", tmp_path)).stdout
    assert "3 passed" in printed


def test_a_wrong_answer_fails_the_cdp_use_example(clients_python: Callable[..., str], run: Run, tmp_path: Path) -> None:
    python = clients_python("cdp_use", "pytest_asyncio", "trio")
    wrong = tmp_path / "test_wrong.py"
    text = (EXAMPLES / "test_cdp_use_dialogs.py").read_text()
    wrong.write_text(text.replace('"accept": "cookies" in', '"accept": True or "cookies" in'))
    with pytest.raises(AssertionError, match="2 failed, 1 passed"):
        run(asyncio_pytest(python, wrong, tmp_path))


def fuzzed(python: str, example: Path) -> str:
    return f"{shlex.quote(python)} {shlex.quote(str(example))} {{url}}"


def test_the_fuzzed_example_client_breaks_no_law(
    clients_python: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client = fuzzed(clients_python("websockets"), EXAMPLES / "fuzzed_client.py")
    how = ["--runs", "6", "--ask", "--faults", "hostile", "--save", str(tmp_path / "found.json")]
    assert main(["fuzz", "--client", client, *how]) == 0, capsys.readouterr().out


def test_a_fuzzed_client_that_fails_on_a_refusal_is_found(clients_python: Callable[..., str], tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    text = (EXAMPLES / "fuzzed_client.py").read_text()
    wrong.write_text(
        text.replace("        return message", '        assert "error" not in message\n        return message')
    )
    client = fuzzed(clients_python("websockets"), wrong)
    assert try_program(client, Example()).complaints == ()
    refused = try_program(client, Example(faults=[Refuse("Target.setAutoAttach")])).complaints
    assert "errors-say-what-to-do" in {complaint.law for complaint in refused}


def test_an_unchanged_library_can_be_fuzzed(
    clients_python: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The findings are the library's own; asserted is that everything else is in order."""
    watcher = Path(__file__).with_name("fuzzed_watcher.py")
    client = f"{fuzzed(clients_python('cdp_use'), watcher)} cdp_use"
    found = tmp_path / "found.json"
    assert main(["fuzz", "--client", client, "--runs", "4", "--shrinks", "2", "--save", str(found)]) in (0, 1)
    printed = capsys.readouterr().out
    assert re.search(r"^[0-9]+ examples[,;] ", printed, re.MULTILINE)
    assert "a-client-connects" not in printed
    assert "nothing-waits-for-ever" not in printed
    gone = Script(timeline=(Wait(1), Popup("p", "https://pay.example/", noopener=True), Close("p")))
    for _ in range(2):
        outcome = try_program(client, Example(script=gone, seed=3))
        assert {each.law for each in outcome.complaints} <= {"detached-commands-never-answer"}, outcome
