"""The board in a host of MCP Apps: the official bridge and client in a page, a real host process behind them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from benchmarks.served import HostProcess
from tests.board_seats import Hand, Seat, seated, serve_at
from tests.evaluation.browsing import browser as browser
from tests.evaluation.browsing import watched
from tests.interop.environments import Unavailable, environment, node_packages

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Frame, Page

pytestmark = [pytest.mark.browser, pytest.mark.interop, pytest.mark.slow]

PACKAGES = (
    "@modelcontextprotocol/ext-apps@2.0.4",
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/core@2.4.0",
    "zod@4.6.7",
    "esbuild@0.28.2",
)
SHOTS = Path("build/shots")
# As hosts of MCP Apps have it where a page names no domains. The official client needs eval in the host's own page; the
# board's own policy forbids it.
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; frame-src 'self'"
)
FAKE = "<!doctype html><title>fake host</title><style>iframe { width: 100%; height: 300px; border: 0 }</style>"
HOSTILE = "<img src=x onerror=document.title='broken'></script><script>document.title='broken'</script> \u202egnihton "


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The fake host's script, bundled with the official packages."""
    try:
        folder = environment("apps", node_packages, PACKAGES)
    except Unavailable as reason:
        pytest.skip(f"no packages of MCP Apps: {reason}")
    made = tmp_path_factory.mktemp("fake") / "fake_host.js"
    source = Path(__file__).parent / "fake_host.mjs"
    esbuild = str(folder / "node_modules/.bin/esbuild")
    command = [esbuild, str(source), "--bundle", "--format=iife", f"--outfile={made}"]
    variables = {"NODE_PATH": str(folder / "node_modules"), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return made.read_text()


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostProcess]:
    made = HostProcess(tmp_path_factory.mktemp("boards") / "host", [])
    made.start()
    yield made
    made.close()


class Drawn(NamedTuple):
    """A board in the fake host."""

    page: Page
    board: Frame
    errors: list[str]

    def text(self) -> str:
        return self.board.inner_text("body")

    def heading(self) -> str:
        return self.board.inner_text("h1")

    def round(self) -> str:
        return self.board.inner_text(".strip .num")

    def clean(self) -> None:
        """Nothing ran against a policy or threw, and nothing is wider than the page."""
        assert self.errors == []
        assert self.board.evaluate("window.__violations") == []
        assert self.board.evaluate("document.documentElement.scrollWidth <= innerWidth")


Show = Callable[..., Any]


@pytest.fixture
def show(browser: Browser, script: str) -> Show:
    """`with show(seat, theme, width) as drawn`: the board of a seat in a fresh page of the fake host."""

    @contextmanager
    def shown(seat: Seat, theme: str = "light", width: int = 800, calls: bool = True) -> Generator[Drawn]:
        with watched(browser, width=width) as seen:
            page = seen.page
            # On the seat's own address, because its host answers pages of no other.
            serve_at(page, f"{seat.base}/fake", FAKE, {"content-security-policy": POLICY})
            page.goto(f"{seat.base}/fake")
            page.add_script_tag(content=script)
            grants: dict[str, dict[str, Any]] = {"serverTools": {}, "serverResources": {}} if calls else {}
            page.evaluate("([token, theme, grants]) => open(token, theme, grants)", [seat.token, theme, grants])
            (board,) = (frame for frame in page.frames if frame != page.main_frame)
            board.wait_for_selector("body[data-ready]")
            yield Drawn(page, board, seen.errors)
            assert {address.split("/")[2] for address in seen.asked if not address.startswith(("data:", "about:"))} == {
                seat.base.split("/")[2]
            }

    return shown


# --- one round of each market ---------------------------------------------------------------------------------------


def press(drawn: Drawn, move: str, **fields: str) -> None:
    """Choose a move, fill in its fields, do it, and wait until it is answered."""
    chip = drawn.board.locator(".acting .chip", has_text=move)
    if chip.count():
        chip.click()
    form = drawn.board.locator(".tool-form").first
    for label, value in fields.items():
        form.get_by_label(label).first.fill(value)
    form.locator(".go > .act").click()
    if form.locator(".sure").is_visible():
        form.locator(".sure .act").click()
    drawn.board.wait_for_selector(f".said-back .done:has-text('{move}')")


PLAYS: dict[str, tuple[str, str, dict[str, Any], list[tuple[str, dict[str, str]]], str]] = {
    "teaching": ("pie", "P1", {"others": "half"}, [("Claim slices", {"Slices": "5"})], "Own value"),
    "double_auction": ("smoke", "B1", {"others": "truthful"}, [("Submit a quote", {"Price": "50"})], "Your value"),
    "bargaining": (
        "smoke", "B1", {"others": "fair_split"},
        [("Send a message", {"Text": "Shall we meet at 50?"}), ("Submit a quote", {"Price": "50"})], "Your value",
    ),
    "retail": ("smoke", "manager", {}, [("Close the day", {})], "Shelf and stock"),
    "supply_chain": ("duel", "retailer_01", {"others": "cost_plus"}, [("Skip the phase", {})], "Stock at cost"),
    "marketplace": (
        "small_demo", "customer_0001", {"overrides": {"seats.customer": "first_taker"}},
        [("End the turn", {})], "Wanted",
    ),
}  # fmt: skip


@pytest.mark.parametrize("market", PLAYS)
def test_the_board_of_a_market_is_drawn_and_a_click_plays_a_round(market: str, host: HostProcess, show: Show) -> None:
    scenario, name, options, moves, shown = PLAYS[market]
    (seat,) = seated(host, market, scenario, name, **options)
    with show(seat) as drawn:
        drawn.board.wait_for_selector("h1.awaited")
        assert shown.lower() in drawn.text().lower()
        before = drawn.round().split(" · ")[0]
        pressed = 0
        while drawn.round().split(" · ")[0] == before and pressed < 12:
            move, fields = moves[pressed % len(moves)]
            press(drawn, move, **fields)
            pressed += 1
            drawn.board.wait_for_selector("h1.awaited, h1:has-text('over')")
        assert drawn.round().split(" · ")[0] != before or drawn.heading() == "The episode is over"
        drawn.clean()
        SHOTS.mkdir(parents=True, exist_ok=True)
        for theme, width in (("light", 800), ("dark", 800), ("light", 360), ("dark", 360)):
            drawn.page.evaluate("(name) => theme(name)", theme)
            drawn.page.set_viewport_size({"width": width, "height": 900})
            drawn.board.wait_for_function(
                "(scheme) => document.documentElement.style.colorScheme === scheme", arg=theme
            )
            # What is out of view of a framed page is not painted.
            tall = drawn.board.evaluate("Math.ceil(document.documentElement.getBoundingClientRect().height)")
            drawn.page.set_viewport_size({"width": width, "height": min(4_000, tall + 30)})
            drawn.page.screenshot(path=SHOTS / f"board-{market}-{width}-{theme}.png")
        drawn.page.set_viewport_size({"width": 320, "height": 700})
        drawn.clean()
        told = drawn.page.evaluate("said")
        assert {"view_turn", "await_turn"} <= set(told["tools"])
        assert told["appOnly"] == ["board_state", "board_call"]
        assert told["csp"] == {}
        assert told["sizes"][-1] > 200
    assert 0 < len(seat.clicks()) == pressed
    assert seat.refused() == []


def test_hostile_words_of_another_seat_stay_words(host: HostProcess, show: Show) -> None:
    customer, business = seated(
        host, "marketplace", "small_demo", "customer_0001", "business_0001", overrides={"seats.customer": "first_taker"}
    )
    hand, shop = Hand(customer), Hand(business)
    said = HOSTILE + "\U0001f34a" * (4_000 - len(HOSTILE))
    assert len(said.encode()) > 10_000
    hand.call("send_message", {"to": [shop.call("view_my_business")["business"]], "text": said})
    for player in (hand, shop):
        player.call("end_turn")
    with show(business, width=320) as drawn:
        drawn.board.wait_for_selector("#part-mail details")
        drawn.board.locator("#part-mail details").evaluate_all(
            "(folds) => folds.forEach((fold) => { fold.open = true })"
        )
        seen = drawn.board.locator(".talk pre", has_text="onerror").inner_text()
        assert "<img src=x onerror=document.title='broken'></script>" in seen
        # What would turn the text around is named instead.
        assert "⟦U+202E⟧gnihton" in seen
        assert len(seen) > 3_900
        assert drawn.board.locator("img").count() == 0
        assert drawn.board.evaluate("document.scripts.length") == 1
        assert "broken" not in (drawn.page.title(), drawn.board.title())
        drawn.clean()


def test_a_refused_call_says_why_and_keeps_what_was_typed(host: HostProcess, show: Show) -> None:
    (seat,) = seated(host, "teaching", "pie", "P1", others="half")
    with show(seat) as drawn:
        form = drawn.board.locator(".tool-form").first
        form.get_by_label("Slices").fill("2000")
        form.locator(".go > .act").click()
        drawn.board.wait_for_selector(".said-back:has-text('0 to 1,000')")
        # Within the tool's bounds, and more than the pie has: the market says so.
        form.get_by_label("Slices").fill("999")
        form.locator(".go > .act").click()
        if form.locator(".sure").is_visible():
            form.locator(".sure .act").click()
        drawn.board.wait_for_selector(".said-back .refusal:has-text('too_many_slices')")
        assert form.get_by_label("Slices").input_value() == "999"
        drawn.clean()
    assert seat.clicks() == []


def test_what_the_chat_does_is_shown_and_another_round_is_followed(host: HostProcess, show: Show) -> None:
    one, other = seated(host, "double_auction", "smoke", "B1", "S1", others="truthful")
    with show(one) as drawn:
        # Somebody types while the others play: text and focus stay.
        price = drawn.board.locator(".tool-form").first.get_by_label("Price")
        drawn.page.evaluate("([name, given]) => chat(name, given)", ["submit_quote", {"price": 60}])
        drawn.board.wait_for_selector("h1:has-text('Waiting')")
        price.fill("4")
        price.focus()
        Hand(other).call("submit_quote", {"price": 40})
        drawn.board.wait_for_selector("h1.awaited")
        assert drawn.board.locator("#part-rounds tbody tr").count() == 1
        assert price.input_value() == "4"
        assert drawn.board.evaluate("document.activeElement.matches('input[type=number]')")
        assert drawn.board.inner_text("[aria-live=polite]") == "Your turn. Round 2, quote."
        drawn.page.evaluate("([name, given]) => chat(name, given)", ["submit_quote", {"price": 9_999}])
        drawn.board.wait_for_selector("[role=alert] .refusal")
        assert "price_out_of_range" in drawn.board.inner_text("[role=alert]")
        drawn.clean()
        drawn.page.evaluate("tear()")
        assert drawn.page.evaluate("said.torn")
    assert one.clicks() == []


def test_where_a_page_may_call_nothing_it_shows_what_the_chat_is_told(host: HostProcess, show: Show) -> None:
    (seat,) = seated(host, "teaching", "pie", "P1", others="half")
    with show(seat, calls=False) as drawn:
        assert drawn.heading() == "Your turn"
        drawn.page.evaluate("([name, given]) => chat(name, given)", ["claim", {"slices": 5}])
        drawn.page.evaluate("([name, given]) => chat(name, given)", ["view_history", {}])
        drawn.board.wait_for_selector("#part-view_history tbody tr")
        assert drawn.board.locator("button:visible").count() == 0
        drawn.clean()


def test_answers_in_no_known_form_are_shown_as_tables(host: HostProcess, show: Show) -> None:
    (seat,) = seated(host, "double_auction", "smoke", "B1", others="truthful")
    with show(seat) as drawn:
        for content in ({"rounds": [{"round": "x", "quotes": 7}]}, ["no", "object"], "text", 5, None):
            drawn.page.evaluate("(content) => pushed({ content: [], structuredContent: content })", content)
        drawn.page.evaluate("() => pushed({ content: [{ type: 'text', text: 'gone' }], isError: true })")
        drawn.board.wait_for_selector("[role=alert]:has-text('gone')")
        press(drawn, "Submit a quote", Price="50")
        drawn.clean()


def test_one_round_is_played_by_keyboard_alone(host: HostProcess, show: Show) -> None:
    (seat,) = seated(host, "bargaining", "smoke", "B1", others="fair_split")
    with show(seat, "dark") as drawn:
        drawn.board.wait_for_selector("h1.awaited")
        keys = drawn.page.keyboard

        def reach(selector: str) -> None:
            for _ in range(30):
                if drawn.board.evaluate("(wanted) => document.activeElement?.matches(wanted) ?? false", selector):
                    return
                keys.press("Tab")
            raise AssertionError(f"no Tab leads to {selector}")

        reach("textarea")
        keys.type("Shall we meet at 50?")
        reach(".go > .act")
        keys.press("Enter")
        # The quote's form takes the message's place, and the keyboard goes on in it.
        drawn.board.wait_for_selector("[data-tool=submit_quote]")
        reach("input[type=number]")
        keys.type("50")
        keys.press("Enter")
        if drawn.board.locator(".sure:not([hidden])").count():
            keys.press("Enter")
        drawn.board.wait_for_selector(".strip .num:has-text('round 2')")
        drawn.clean()
    assert seat.clicks() == ["send_message", "submit_quote"]
