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
from tests.waiting import LONG

from tradefair.evaluation import evaluate
from tradefair.evaluation.reading import PersonMoves
from tradefair.tracestore import open_trace

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Frame, Page

pytestmark = pytest.mark.interop

PACKAGES = (
    "@modelcontextprotocol/ext-apps@2.0.4",
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/core@2.4.0",
    "zod@4.6.7",
    "esbuild@0.28.2",
)
SHOTS = Path("build/shots")
OVER = "The episode is over"
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
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=LONG, check=False)
    assert done.returncode == 0, done.stderr
    return made.read_text()


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostProcess]:
    made = HostProcess(tmp_path_factory.mktemp("boards") / "host")
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
    "pricing": ("smoke", "F1", {"others": "nash"}, [("Set the price", {"Price": "1500"})], "Your unit cost"),
    "order_book": (
        "smoke", "B1", {"others": "truthful"}, [("Submit an order", {"Price": "50"}), ("Pass", {})], "Order book",
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
        while drawn.round().split(" · ")[0] == before and drawn.heading() != OVER and pressed < 12:
            move, fields = moves[pressed % len(moves)]
            press(drawn, move, **fields)
            pressed += 1
            drawn.board.wait_for_selector("h1.awaited, h1:has-text('over')")
        assert drawn.round().split(" · ")[0] != before or drawn.heading() == OVER
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
    with open_trace(seat.trace) as trace:
        assert evaluate(trace).seats[name].person_moves == PersonMoves(clicked=pressed, of=pressed)


def filled(drawn: Drawn, field: str) -> str:
    """What the shown form holds in a field."""
    return drawn.board.locator(".tool-form").first.get_by_label(field).first.input_value()


def test_a_click_on_a_rivals_price_fills_it_in(host: HostProcess, show: Show) -> None:
    (seat,) = seated(host, "pricing", "textbook", "F1", others="nash")
    with show(seat, width=390) as drawn:
        drawn.board.wait_for_selector("#part-firms .empty")
        press(drawn, "Set the price", Price="1600")
        drawn.board.get_by_role("button", name="Undercut F2 at 1472").click()
        assert filled(drawn, "Price") == "1472"
        drawn.board.get_by_role("button", name="Keep 1600").click()
        assert filled(drawn, "Price") == "1600"
        drawn.board.get_by_role("button", name="Match F2 at 1473").click()
        press(drawn, "Set the price")
        drawn.board.wait_for_selector("#part-firms h2:has-text('round 2')")
        firms = drawn.board.locator("#part-firms tbody tr").all_inner_texts()
        assert [row.split()[:3] for row in firms] == [["you,", "F1", "1,473"], ["F2", "1,473", "Match"]]
        drawn.clean()
    assert seat.clicks() == ["set_price", "set_price"]


def test_a_form_begins_anew_with_what_holds_for_the_seat(host: HostProcess, show: Show) -> None:
    (seat,) = seated(host, "order_book", "smoke", "S1", others="passive")
    with show(seat) as drawn:
        for pressed in range(3):
            drawn.board.wait_for_selector("h1.awaited")
            assert (filled(drawn, "Side"), filled(drawn, "Price")) == ("sell", "")
            press(drawn, "Submit an order", Price=str(150 - pressed))
        drawn.board.wait_for_selector("h1:has-text('over')")
        # What has been said stays to be read; nothing is left to be clicked.
        assert drawn.board.locator(".moves button").count() == 0
        drawn.clean()
    assert seat.clicks() == ["submit_order"] * 3


def test_a_board_that_is_opened_late_learns_the_rounds_before_page_by_page(host: HostProcess, show: Show) -> None:
    (seat,) = seated(host, "pricing", "textbook", "F1", others="nash")
    hand = Hand(seat)
    for number in range(1, 26):
        hand.call("set_price", {"price": 1400 + number})
    with show(seat) as drawn:
        # Ten rounds a page, the newest first; one page more would tell nothing.
        drawn.board.wait_for_selector("#part-rounds tbody tr:nth-child(25)")
        first = drawn.board.locator("#part-rounds tbody tr:last-child").inner_text().split()
        assert first[:3] == ["1", "1,401", "1,473"]
        asked = seat.looks("view_prices")
        press(drawn, "Set the price", Price="1500")
        drawn.board.wait_for_selector("#part-firms h2:has-text('round 26')")
        assert drawn.board.locator("#part-rounds tbody tr").count() == 26
        drawn.clean()
    # Of the rounds before, nothing is asked again.
    assert (asked, seat.looks("view_prices")) == (3, 4)
    assert seat.refused() == []


def test_a_click_on_a_level_of_the_book_takes_it_or_rests_there(host: HostProcess, show: Show) -> None:
    (buyer, *rest) = seated(host, "order_book", "smoke", "B1", "B2", "S1", "S2", overrides={"arrival": "rotation"})
    other, seller, last = (Hand(seat) for seat in rest)
    with show(buyer, width=390) as drawn:
        press(drawn, "Submit an order", Price="50")
        other.call("submit_order", {"side": "buy", "price": 80})
        seller.call("submit_order", {"side": "sell", "price": 120})
        last.call("submit_order", {"side": "sell", "price": 130})
        other.call("pass_turn")
        for hand in (seller, last):
            hand.call("pass_turn")
        drawn.board.wait_for_selector("h1.awaited")
        levels = drawn.board.locator("#part-book tbody tr")
        assert levels.locator("th").all_inner_texts() == ["130", "120", "spread 40", "80", "50"]
        assert levels.nth(4).get_attribute("class") == "own"
        assert "1 (1 ahead)" in levels.nth(4).inner_text()
        drawn.board.get_by_role("button", name="Bid at 81").click()
        assert filled(drawn, "Price") == "81"
        drawn.board.get_by_role("button", name="Cancel order 1").click()
        press(drawn, "Cancel an order")
        levels.nth(4).wait_for(state="detached")
        drawn.board.get_by_role("button", name="Buy at 120").click()
        press(drawn, "Submit an order")
        drawn.board.wait_for_selector("#part-trades tbody tr.own")
        assert drawn.board.locator("#part-trades tbody tr").inner_text().split()[:4] == ["1", "120", "1", "yes"]
        drawn.clean()
    assert buyer.clicks() == ["submit_order", "cancel_order", "submit_order"]


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
    (seat,) = seated(host, "order_book", "smoke", "B1", others="truthful")
    with show(seat) as drawn:
        form = drawn.board.locator(".tool-form").first
        form.get_by_label("Price").fill("2000")
        form.locator(".go > .act").click()
        drawn.board.wait_for_selector(".said-back:has-text('1 to 200')")
        # Within the tool's bounds, and nothing that a buyer may do: the market says so.
        form.get_by_label("Price").fill("99")
        form.get_by_label("Side").select_option("sell")
        form.locator(".go > .act").click()
        form.locator(".sure .act").click()
        drawn.board.wait_for_selector(".said-back .refusal:has-text('wrong_side')")
        assert (filled(drawn, "Price"), filled(drawn, "Side")) == ("99", "sell")
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


FORMS: dict[str, list[tuple[str, Any]]] = {
    "double_auction": [("view_history", {"rounds": [{"round": "x", "quotes": 7}]})],
    "pricing": [("view_prices", {"rounds": [{"round": 1, "prices": {HOSTILE: 7, "F1": HOSTILE}, "index": HOSTILE}]})],
    "order_book": [
        ("view_book", {"bids": [{"price": HOSTILE, "quantity": {}}, 7], "asks": HOSTILE}),
        ("view_my_orders", {"orders": [{"order": HOSTILE, "price": None}]}),
        ("view_trades", {"trades": [{"number": 1, "price": HOSTILE, "aggressor": []}]}),
    ],
}


@pytest.mark.parametrize("market", FORMS)
def test_answers_in_no_known_form_are_shown_as_text(market: str, host: HostProcess, show: Show) -> None:
    scenario, name, options, [(move, fields), *_], _ = PLAYS[market]
    (seat,) = seated(host, market, scenario, name, **options)
    with show(seat) as drawn:
        given = [("view_turn", odd) for odd in (["no", "object"], "text", 5, None)]
        for tool, content in [*FORMS[market], *given]:
            drawn.page.evaluate("([tool, content]) => answered(tool, content)", [tool, content])
        assert drawn.board.locator("img").count() == 0
        assert "broken" not in (drawn.page.title(), drawn.board.title())
        drawn.page.evaluate("() => pushed({ content: [{ type: 'text', text: 'gone' }], isError: true })")
        drawn.board.wait_for_selector("[role=alert]:has-text('gone')")
        press(drawn, move, **fields)
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
