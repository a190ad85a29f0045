"""A Chromium for tests that need only its address.

Without one they are skipped or, if CI is set, fail.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@contextmanager
def running_chromium() -> Iterator[str]:
    """Run a Chromium on a new profile for a block; the value is its WebSocket address."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        reason = f"no Chromium: none of {', '.join(BROWSERS)} is on the PATH"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="cdp-one-", ignore_cleanup_errors=True) as profile:
        with Path(profile, "stderr").open("wb") as errors:
            browser = subprocess.Popen(
                [
                    program,
                    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
                    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
                    *("--site-per-process", f"--user-data-dir={profile}", "--remote-debugging-port=0"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        try:
            port, path = _announced(browser, Path(profile, "DevToolsActivePort"))
            yield f"ws://127.0.0.1:{port}{path}"
        finally:
            os.killpg(browser.pid, signal.SIGKILL)
            browser.wait()


def _announced(browser: subprocess.Popen[bytes], file: Path) -> list[str]:
    """Return the two lines that Chromium writes once it listens."""
    for _look in range(300):
        if file.exists() and len(lines := file.read_text().split()) == 2:
            return lines
        if browser.poll() is not None:
            break
        time.sleep(0.1)  # no event to wait for: a file appears
    pytest.fail(
        f"Chromium did not begin to listen (exit code {browser.poll()}): {file.with_name('stderr').read_text()}"
    )
