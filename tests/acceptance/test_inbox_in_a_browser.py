"""The operator's pages in a real browser, as wide as a phone: signed in by hand, acted upon by their forms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.browser import Page, browser, installed
from tests.support.world import world

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(180),
    pytest.mark.skipif(
        installed() is None, reason="no Chromium on this machine: the pages were not tried in a browser"
    ),
]


async def submit(page: Page, form: str, **fields: str) -> None:
    """Fill a form and press its button, as a person does; waits for the next page."""
    await page.evaluate("document.body.dataset.old = 'yes'")
    for name, value in fields.items():
        field = json.dumps(f"{form} [name={name}]")
        await page.evaluate(f"document.querySelector({field}).value = {json.dumps(value)}")
    await page.evaluate(f"document.querySelector({json.dumps(form + ' button')}).click()")
    await page.until("document.readyState === 'complete' && !document.body.dataset.old")


async def fits(page: Page) -> bool:
    """Whether nothing has to be scrolled sideways."""
    return await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


async def test_signed_in_read_acted_upon_and_signed_out(tmp_path: Path) -> None:
    async with world(tmp_path) as here, browser(tmp_path) as page:
        here.ask("where is the class Engine defined?")
        (item,) = await here.settled()
        token = (here.gateway.settings.data_dir / "operator.token").read_text("utf-8").strip()
        url = here.gateway.settings.url
        await page.open(f"{url}/inbox")
        await submit(page, "form.sign-in", token="not the token")
        assert await page.evaluate("document.querySelector('[role=alert]') !== null")
        await submit(page, "form.sign-in", token=token)
        assert "where is the class Engine defined?" in await page.text()
        assert await fits(page)

        await page.open(f"{url}/inbox/{item['request_id']}")
        assert await fits(page)
        await submit(page, "form[action$='/note']", text="looked at by hand", who="mei")
        shown = await page.text()
        assert "looked at by hand" in shown
        assert "mei" in shown
        await submit(page, "form[action$='/reveal']", who="mei")
        assert "question_message_id" in await page.text()

        await submit(page, "form[action$='/sign-out']")
        await page.open(f"{url}/inbox")
        assert await page.evaluate("document.querySelector('form.sign-in') !== null")
