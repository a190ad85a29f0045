"""The frames of a page are those that the browser has, whatever became of them, and whichever process they are in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.chromium

Pages = Callable[..., str]
HERE, THERE = "127.0.0.1", "localhost"


def frame(url: str, name: str = "") -> str:
    return f'<iframe name="{name}" src="{url}"></iframe>'


async def test_the_tree_is_complete_when_a_page_is_attached_to(open_stage: Any, sites: Pages) -> None:
    inner = sites(frame(sites("deep", HERE)), THERE)
    html = frame(sites("near", HERE), "near") + frame(inner, "far")
    async with open_stage() as first:
        target = await first.open(sites(html))
        told = await first.agree(target)
        assert len(told) == 4
        async with open_stage(scoped=False) as late:
            assert await late.agree(target) == told
            near, far = list(late.page(target).frames())[1:3]
            assert (near.name, near.is_oopif, near.session_id) == ("near", False, late.page(target).session_id)
            assert far.is_oopif
            assert far.session_id not in (None, near.session_id)
            assert near.origin == sites("", HERE).partition("/?")[0]


async def test_a_frame_keeps_its_id_in_and_out_of_processes(stage: Any, sites: Pages) -> None:
    target = await stage.open(sites(frame(sites("one"), "f")))
    before = await stage.agree(target)
    for host, oopif in ((THERE, True), (HERE, False), (THERE, True)):
        url = sites(f"at {host}", host)
        await stage.sup.evaluate(f"document.querySelector('iframe').src = {url!r}; 1", target_id=target)
        await stage.until(lambda s, url=url: any(each.url == url for each in s.page(target).frames()))
        now = await stage.agree(target)
        assert now.keys() == before.keys()
        assert [each[2] for each in now.values() if each[0]] == [oopif]
