"""A client program: Playwright visits the shop at an address and prints its observations."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from playwright.async_api import Dialog, Page, async_playwright

PATIENCE = 20_000


def listen(page: Page, seen: dict[str, Any]) -> None:
    async def answer(dialog: Dialog) -> None:
        seen["dialogs"].append([dialog.type, dialog.message, dialog.default_value])
        if dialog.message == "Sure?":
            await dialog.dismiss()
        else:
            await dialog.accept(*(["me"] if dialog.type == "prompt" else []))

    page.on("console", lambda line: seen["console"].append([line.type, line.text]))
    page.on("pageerror", lambda error: seen["errors"].append(error.message))
    page.on("dialog", answer)


async def visit(page: Page, shop: str, seen: dict[str, Any]) -> None:
    page.set_default_timeout(PATIENCE)
    listen(page, seen)
    seen["new"] = page.url
    seen["sum"] = await page.evaluate("1 + 2")
    seen["argument"] = await page.evaluate("number => number + 4", 3)
    await page.goto(shop)
    seen["href"] = await page.evaluate("() => location.href")
    seen["total"] = await page.evaluate("() => cart.total()")
    seen["items"] = await page.evaluate("async () => { const found = await cart.items(); return found; }")
    await page.goto(f"{shop}dialogs", wait_until="networkidle")
    seen["paid"] = await page.evaluate("cart.pay()")
    await page.goto(f"{shop}frames")
    seen["frames"] = sorted(frame.url for frame in page.frames)
    seen["in_frame"] = await page.frame("pay").evaluate("location.href")  # type: ignore[union-attr]
    async with page.expect_popup() as opened:
        await page.evaluate("() => { cart.help() }")
    popup = await opened.value
    await popup.wait_for_url(f"{shop}help")
    seen["popup"] = popup.url
    await popup.close()


async def main(url: str, shop: str) -> None:
    seen: dict[str, Any] = {"console": [], "errors": [], "dialogs": []}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.connect_over_cdp(url, timeout=PATIENCE)
        [context] = browser.contexts
        seen["pages"] = [page.url for page in context.pages]
        page = await context.new_page()
        await visit(page, shop, seen)
        await page.close()
        seen["left"] = [page.url for page in context.pages]
        await browser.close()
    print(json.dumps(seen))


asyncio.run(main(*sys.argv[1:3]))
