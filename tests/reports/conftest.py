"""A report in a browser: Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from report_cases import NASTY, Audit, Noise, report_data

from epitomes.reports import ReportData, write_report
from epitomes.reports.usage import Usage, usage

QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
QUIET += ("--disable-sync", "--no-first-run")


@pytest.fixture(scope="module")
def data() -> ReportData:
    """A report in which a name tries to run a script."""
    rng = np.random.default_rng(0)
    audit = Audit(np.abs(rng.standard_normal((72, 96))), ("edges were cut", NASTY), ("use a smaller sigma", NASTY))
    return report_data(rng, audit=audit, name=f"board {NASTY}", noise=Noise(doubts=(NASTY,)), notes=(NASTY,))


@pytest.fixture(scope="module")
def used(data: ReportData) -> Usage:
    found = usage(data.before, data.epitome, data.level)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def address(data: ReportData, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(path, data)
    return path.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser needs pip install playwright")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("the tests of pages need apt-get install chromium")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path, args=list(QUIET))
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser: Any, address: str) -> Iterator[Any]:
    """Open the page in a state of the browser. At the end, the console must be empty and no request sent."""
    heard: list[str] = []
    contexts = []

    def opened(**state: Any) -> Any:
        contexts.append(browser.new_context(**state))
        tab = contexts[-1].new_page()
        tab.on("console", lambda message: heard.append(f"console: {message.text}"))
        tab.on("pageerror", lambda error: heard.append(f"error: {error}"))
        tab.on("request", lambda request: heard.append(f"request: {request.url[:100]}"))
        tab.goto(address)
        return tab

    yield opened
    for context in contexts:
        context.close()
    asked = [line for line in heard if line != f"request: {address}"[:109] and not line.startswith("request: data:")]
    assert not asked
