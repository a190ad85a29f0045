"""Hypothesis seeds trio's scheduler: without `st.random_module()` all examples run in one task order."""

from __future__ import annotations

import random

import trio
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st


async def order_of_four() -> str:
    order: list[str] = []

    async def task(name: str) -> None:
        for _ in range(3):
            order.append(name)
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        for name in "abcd":
            nursery.start_soon(task, name)
    return "".join(order)


def test_fifty_examples_see_many_schedules() -> None:
    seen: list[str] = []

    @settings(max_examples=50, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(chance=st.random_module(), _more=st.integers())
    def example(chance: random.Random, _more: int) -> None:
        seen.append(trio.run(order_of_four))

    example()
    assert len(seen) >= 20
    assert len(set(seen)) >= 10
