"""The pytest plugin, run in a separate pytest, and its cost for runs that do not use it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENV = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
INI = "[pytest]\nfilterwarnings = error\naddopts = --strict-markers -p no:cacheprovider -p no:cdp_core\n"


def run(folder: Path, text: str, *more: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text(INI)
    (folder / "test_it.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "cdp_core_pytest", *more],
        cwd=folder,
        env=ENV,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def assert_passes(folder: Path, text: str, count: int) -> None:
    ran = run(folder, text)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"{count} passed" in ran.stdout


def test_each_test_gets_its_own_fake_in_memory(tmp_path: Path) -> None:
    assert_passes(
        tmp_path,
        """
import threading

import pytest

from cdp_core.testing import Script, FakeBrowser
from cdp_core.testing.steps import Navigate

SCRIPT = Script(timeline=(Navigate("http://shop.example/"),))
seen = []


def test_plain(fake_browser):
    assert type(fake_browser) is FakeBrowser
    assert threading.active_count() == 1
    fake_browser.connect()
    seen.append(fake_browser)


def test_another(fake_browser):
    assert fake_browser.connect().number == 1
    assert fake_browser not in seen


@pytest.mark.fake_script(SCRIPT)
def test_script(fake_browser):
    assert fake_browser.truth().frames[0].url == "http://shop.example/"


@pytest.mark.fake_script(SCRIPT.to_json(), seed=3, profile="headless-shell")
class TestMany:
    def test_json_of_the_class(self, fake_browser):
        assert fake_browser.truth().frames[0].url == "http://shop.example/"
        assert fake_browser.path == FakeBrowser(seed=3).path

    @pytest.mark.fake_script(Script())
    def test_the_nearest_counts(self, fake_browser):
        assert fake_browser.truth().frames[0].url == "about:blank"
""",
        5,
    )


def test_fake_browser_url_serves_the_fake_of_the_test(tmp_path: Path) -> None:
    assert_passes(
        tmp_path,
        """
import json
import threading
import urllib.request

import pytest
import trio

from cdp_core import open_browser_session
from cdp_core.testing import Script
from cdp_core.testing.steps import Navigate

urls = []


@pytest.mark.fake_script(Script(timeline=(Navigate("http://shop.example/"),)))
def test_both_are_one(fake_browser, fake_browser_url):
    urls.append(fake_browser_url)
    assert fake_browser_url.endswith(fake_browser.path)
    at = fake_browser_url.split("/")[2]
    with urllib.request.urlopen(f"http://{at}/json/list", timeout=10) as answer:
        assert json.load(answer)[0]["url"] == "http://shop.example/"
    fake_browser.play(Navigate("http://b.example/"))
    assert fake_browser.truth().frames[0].url == "http://b.example/"
    with urllib.request.urlopen(f"http://{at}/json/list", timeout=10) as answer:
        assert json.load(answer)[0]["url"] == "http://b.example/"


def test_the_address_alone(fake_browser_url):
    async def main():
        async with open_browser_session(fake_browser_url) as browser:
            await browser.send("Browser.getVersion")

    trio.run(main)
    assert fake_browser_url not in urls


def test_the_other_order(fake_browser_url, fake_browser):
    assert fake_browser_url.endswith(fake_browser.path)


def test_its_thread_has_ended():
    assert threading.active_count() == 1
    with pytest.raises(OSError):
        urllib.request.urlopen(f"http://{urls[0].split('/')[2]}/json/list", timeout=10)
""",
        4,
    )


@pytest.mark.parametrize(
    ("marker", "words"),
    [
        ("Script(), Script()", "takes a script"),
        ("Script(), speed=3", "takes a script"),
        ("3", "A script must be a JSON"),
        ("'nonsense'", "A script must be a JSON"),
    ],
)
def test_an_invalid_marker_is_an_error_of_its_test_only(tmp_path: Path, marker: str, words: str) -> None:
    ran = run(
        tmp_path,
        "import pytest\nfrom cdp_core.testing import Script\n"
        f"@pytest.mark.fake_script({marker})\ndef test_it(fake_browser): pass\ndef test_other(): pass\n",
    )
    assert ran.returncode == 1
    assert "1 passed" in ran.stdout
    assert "1 error" in ran.stdout
    assert words in ran.stdout


def test_the_marker_is_listed_with_its_arguments(tmp_path: Path) -> None:
    assert "fake_script(script, **options)" in run(tmp_path, "", "--markers").stdout


def test_without_its_fixtures_the_plugin_starts_and_imports_nothing(tmp_path: Path) -> None:
    assert_passes(
        tmp_path,
        """
import sys
import threading


def test_it(request):
    assert threading.active_count() == 1
    assert not [name for name in request.fixturenames if "fake" in name]
    modules = {name.split(".")[0] for name in sys.modules}
    assert "cdp_core_pytest" in modules
    assert not modules & {"cdp_core", "cdp_supervisor", "trio", "attrs", "attr", "msgspec", "hypothesis", "ssl"}
""",
        1,
    )


def test_the_plugin_module_imports_only_pytest_and_the_standard_library() -> None:
    program = (
        "import sys, json, pytest\nbefore = set(sys.modules)\n"
        "import cdp_core_pytest\nprint(json.dumps(sorted(set(sys.modules) - before)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], env=ENV, capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(ran.stdout) == ["cdp_core_pytest"]


def test_the_plugin_can_be_loaded_under_its_name_in_the_package(tmp_path: Path) -> None:
    text = "def test_it(fake_browser): fake_browser.connect()"
    ran = run(tmp_path, text, "-p", "cdp_core.testing.pytest_plugin", "-p", "no:cdp_core_pytest")
    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr


def test_pytest_discovers_the_plugin_and_this_project_disables_it(pytestconfig: pytest.Config) -> None:
    project = (ROOT / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\ncdp_core = "cdp_core_pytest"\n' in project
    assert "-p no:cdp_core" in project
    assert not pytestconfig.pluginmanager.has_plugin("cdp_core")
