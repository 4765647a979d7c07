"""What a test in the browser waits for: fields that a script replaces, and what the page's scripts count."""

from playwright.sync_api import Locator, Page, Route


def chooser(page: Page, label: str) -> Locator:
    """Return the text field with the label: not the `<select>` that stands there until the script has replaced it."""
    return page.get_by_role("combobox", name=label, exact=True).and_(page.locator("input"))


def choose(page: Page, label: str, typed: str, offered: str | None = None) -> None:
    """Choose what is offered for the typed text, which is the text itself unless `offered` says otherwise."""
    chooser(page, label).click()
    page.keyboard.type(typed)
    page.get_by_role("option", name=offered or typed).click()


def expect_count(page: Page, expression: str, count: int) -> None:
    """Wait until an expression counts so many. The page's policy forbids to evaluate it again from within the page."""
    for _ in range(200):
        if page.evaluate(expression) == count:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"There are {page.evaluate(expression)} instead of {count}.")


def held_back(page: Page, requests: list[Route]) -> Route:
    """Return the first request that was held back, which can come later than what the page shows about it."""
    for _ in range(200):
        if requests:
            return requests.pop(0)
        page.wait_for_timeout(100)
    raise AssertionError("Nothing was sent.")
