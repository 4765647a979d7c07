"""What a test in the browser waits for: the next page, fields that a script replaces, and what scripts count.

A press returns when the next page begins to arrive, or even before: what is asked directly after it can be answered by
the page before, or by one whose scripts have not run. `expect` asks again until the answer is right, and so do actions
on elements. Whatever asks only once (`evaluate`, `count`, `all`, a look of axe-core, the database), and whatever leaves
the page (`goto`), comes after `follow` or after an `expect` that only the next page can meet.
"""

from playwright.sync_api import Locator, Page, Route, expect


def follow(control: Locator) -> None:
    """Press what leads to another page, and wait until that page is there and its scripts have run."""
    with control.page.expect_navigation():
        control.click()


def settle(page: Page) -> None:
    """Wait until a form that was sent has led to its page, and the page has all that it loads."""
    expect(page.locator("form[data-sending]")).to_have_count(0)
    page.wait_for_load_state()


def go_online(page: Page) -> None:
    """Give the page its connection back, and tell it once requests arrive: the event alone can come before that."""
    page.context.set_offline(False)
    for _ in range(200):
        if page.evaluate("fetch('/healthz').then(() => true, () => false)"):
            page.evaluate("window.dispatchEvent(new Event('online'))")
            return
        page.wait_for_timeout(100)
    raise AssertionError("The page has no connection.")


def chooser(page: Page, label: str) -> Locator:
    """Return the text field with the label: not the `<select>` that stands there until the script has replaced it."""
    return page.get_by_role("combobox", name=label, exact=True).and_(page.locator("input"))


def choose(page: Page, label: str, text: str, option: str | None = None) -> None:
    """Choose what is offered for the typed text, which is the text itself unless `offered` says otherwise."""
    chooser(page, label).click()
    page.keyboard.type(text)
    page.get_by_role("option", name=option or text).click()


def expect_count(page: Page, expression: str, count: int) -> None:
    """Wait until an expression counts so many. The page's policy forbids to evaluate it again from within the page."""
    for _ in range(200):
        if page.evaluate(expression) == count:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"There are {page.evaluate(expression)} instead of {count}.")


def next_request(page: Page, requests: list[Route]) -> Route:
    """Return the first request that was held back, which can come later than what the page shows about it."""
    for _ in range(200):
        if requests:
            return requests.pop(0)
        page.wait_for_timeout(100)
    raise AssertionError("Nothing was sent.")
