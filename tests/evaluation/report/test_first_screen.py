"""What a person sees first on a report, in a real browser: at a desk and on a phone, light, dark and in print."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.evaluation.browsing import Watched, let_draw, watched
from tests.evaluation.mutations import parts_of, write_parts
from tests.evaluation.ratings.playing import play_seats
from tests.evaluation.report.playing import HOSTILE_TEXT, note

from tradefair.evaluation.figures import common_figures, figures_of
from tradefair.evaluation.report import PageData, build_report, html_page
from tradefair.evaluation.report.build import Report
from tradefair.evaluation.report.packing import pack_json

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

SHOTS = Path(__file__).parents[3] / "build" / "shots"
SCREENS = {"desk": (1280, 900), "phone": (390, 844)}
SEATS = ("B1", "B2", "B3", "B4", "S1", "S2", "S3", "S4")


@pytest.fixture(scope="module")
def auction(folder: Path) -> Report:
    """A bazaar in which B1 quotes at random behind a model, with three references of the same seat and seed."""
    others = dict.fromkeys(SEATS, "zip")
    path = play_seats(folder / "bazaar.trace", "double_auction/bazaar", others | {"B1": "zic"}, 7, compared=["B1"])
    parts = parts_of(path)
    parts.notes = [("B1", note(turn, ["submit_quote"])) for turn in range(1, 31)]
    write_parts(parts, path)
    for policy in ("truthful", "kaplan", "passive"):
        place = folder / "references" / f"{policy}.trace"
        play_seats(place, "double_auction/bazaar", others | {"B1": policy}, 7, compared=["B1"])
    return build_report([path])


@pytest.fixture(scope="module")
def store(folder: Path) -> Report:
    trace = play_seats(folder / "store.trace", "retail/smoke", {"manager": "fumbler"}, 3, compared=["manager"])
    return build_report([trace], check=False)


@contextmanager
def shown(browser: Browser, report: Report, folder: Path, screen: str) -> Generator[tuple[Page, Watched]]:
    """The page of a report on a screen; afterwards it must have asked for nothing and had no error."""
    width, height = SCREENS[screen]
    file = folder / "shown.html"
    file.write_bytes(report.html)
    with watched(browser, width=width) as seen:
        seen.page.set_viewport_size({"width": width, "height": height})
        seen.page.emulate_media(reduced_motion="reduce")
        page = seen.show(file.as_uri())
        page.locator("#did figure svg.plot").first.wait_for()
        yield page, seen
        assert [address for address in seen.asked if not address.startswith(("data:", "blob:"))] == [file.as_uri()]
        assert seen.errors == []
        assert seen.violations == []


def keep(page: Page, name: str) -> None:
    """A picture of the whole page for a person to look at, and the index of all of them."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png", full_page=True)
    names = [escape(picture.name) for picture in sorted(SHOTS.glob("*.png"))]
    shots = "".join(f'<p><a href="{name}">{name}<br><img src="{name}" width="400"></a></p>' for name in names)
    (SHOTS / "index.html").write_text(f"<!doctype html><title>Shots</title>{shots}\n", encoding="utf-8")


def unfold(page: Page) -> None:
    for _ in range(3):
        page.evaluate("document.querySelectorAll('main details:not([open])').forEach((fold) => { fold.open = true; })")
        let_draw(page)


@pytest.mark.parametrize("screen", SCREENS)
def test_verdict_first_finding_and_first_reference_stand_on_the_first_screen(
    browser: Browser, auction: Report, folder: Path, screen: str
) -> None:
    with shown(browser, auction, folder, screen) as (page, _):
        width, height = SCREENS[screen]
        for selector in (".verdict h1", ".verdict .mistake", "#findings li.finding", "#beside li.own + li"):
            box = page.locator(selector).first.bounding_box()
            assert box is not None
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= height, selector
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width, selector
        sizes: dict[str, list[float]] = page.evaluate(
            """() => Object.fromEntries(['h1', '*:not(h1):not(h1 *)'].map((among) => [among,
            [...document.querySelectorAll(`main ${among}`)].map((e) => parseFloat(getComputedStyle(e).fontSize))]))"""
        )
        (first,), others = sizes.values()
        assert first == {"desk": 28, "phone": 22}[screen]
        assert first > max(others)
        assert page.evaluate("document.documentElement.scrollHeight") <= 2_600
        assert page.evaluate("document.documentElement.scrollWidth") == width
        keep(page, f"auction-{screen}")
        page.emulate_media(color_scheme="dark")
        keep(page, f"auction-{screen}-dark")


def test_the_first_text_is_the_verdict_word_for_word(browser: Browser, auction: Report, folder: Path) -> None:
    with shown(browser, auction, folder, "desk") as (page, _):
        texts = page.locator(
            ".verdict h1, .verdict .second, .verdict .mistake > :first-child, .effort"
        ).all_inner_texts()
        verdict = auction.data.episodes[0].verdict
        # At its colon the first sentence is parted into two.
        begun, rest = verdict.text.split(": ", 1)
        assert " ".join(" ".join(texts).split()) + "." == f"{begun}. {rest[0].upper()}{rest[1:]}"
        assert texts[0] == f"{begun}."
        assert len(verdict.seats[0].beside) == 3
        assert verdict.seats[0].mistake is not None
        dot = page.locator(".effort .badge.good")
        assert dot.inner_text().endswith("reproduced")


def test_the_accent_is_on_the_seat_under_test_and_nowhere_else(browser: Browser, auction: Report, folder: Path) -> None:
    with shown(browser, auction, folder, "desk") as (page, _):
        unfold(page)
        wrong: list[str] = page.evaluate(
            """() => {
            const probe = document.body.appendChild(document.createElement('i'));
            probe.style.color = 'var(--accent)';
            const accent = getComputedStyle(probe).color;
            probe.remove();
            const marks = ['color', 'backgroundColor', 'borderLeftColor', 'borderBottomColor', 'fill', 'stroke'];
            const has = (e) => marks.some((mark) => getComputedStyle(e)[mark] === accent);
            const lit = [...document.querySelectorAll('body *')].filter(has);
            window.__lit = lit.length;
            return lit.filter((e) => !e.closest('.own') && !e.closest('figure')).map((e) => e.outerHTML.slice(0, 120));
            }"""
        )
        assert wrong == []
        assert page.evaluate("window.__lit") > 10
        bars = page.locator("#beside .bar")
        colours = [bar.evaluate("(bar) => getComputedStyle(bar).backgroundColor") for bar in bars.all()]
        assert len(colours) == 4
        assert colours[0] not in colours[1:]
        # In a picture of seats the lines and bars of others have no accent: one of eight is lit.
        lit = page.locator('figure[data-chart="gains"] svg.plot [fill="var(--accent)"]')
        assert lit.count() == 1
        # The lane on top is B1's; a pixel of the accent stands in no other.
        lanes: list[int] = page.evaluate(
            """() => {
            const canvas = document.querySelector('canvas.marks'), ratio = devicePixelRatio;
            const pen = canvas.getContext('2d'), own = getComputedStyle(document.querySelector('.own .bar'));
            const rgb = own.backgroundColor.match(/\\d+/g).map(Number);
            const count = (top, height) => {
              const { data } = pen.getImageData(0, top * ratio, canvas.width, height * ratio);
              let found = 0;
              for (let at = 0; at < data.length; at += 4)
                if (rgb.every((value, place) => Math.abs(data[at + place] - value) < 6) && data[at + 3] > 200) found++;
              return found;
            };
            return [count(22, 42), count(80, canvas.height / ratio - 80)];
            }"""
        )
        assert lanes[0] > 100
        assert lanes[1] == 0


def test_two_clicks_lead_to_why_the_first_mistake_was_one(browser: Browser, auction: Report, folder: Path) -> None:
    mistake = auction.data.episodes[0].verdict.seats[0].mistake
    assert mistake is not None
    with shown(browser, auction, folder, "desk") as (page, _):
        page.locator(".verdict .mistake").click()
        panel = page.locator("aside.detail")
        panel.locator(".cites").wait_for()
        # Why stands first, then the request.
        order = panel.locator(".cites, .facts, h3").all()
        assert mistake.because in order[0].inner_text()
        assert f"#{mistake.seq}" in panel.locator("h2").inner_text()
        keep(page, "auction-event")
        page.keyboard.press("Escape")
        page.locator("li.finding .chip").first.click()
        panel.locator(".cites", has_text=mistake.because).wait_for()


def test_chips_are_one_per_decision(browser: Browser, auction: Report, folder: Path) -> None:
    with shown(browser, auction, folder, "desk") as (page, _):
        cards = page.locator("#findings li.finding")
        assert cards.count() > 0
        for card in cards.all():
            chips = card.locator(".chips > .chip")
            numbers = [int(chip.locator(".seq").inner_text().strip("#")) for chip in chips.all()]
            assert len(set(numbers)) == len(numbers) > 0
        more = cards.first.locator(".chips .link").inner_text()
        assert re.fullmatch(r"(\d+ more, )?shown on the timeline", more)
    # A phone shows fewer of them and no timeline: the rest is counted, and the words say where it stands.
    with shown(browser, auction, folder, "phone") as (page, _):
        card = page.locator("#findings li.finding").first
        chips, more = card.locator(".chips > .chip:visible").count(), card.locator(".chips .link").inner_text()
        rest = auction.data.episodes[0].raised[0].finding.count - chips
        assert more == (f"{rest} more " if rest else "") + "in the list"


def test_every_column_and_figure_explains_itself_and_none_by_the_name_of_a_field(
    browser: Browser, auction: Report, folder: Path
) -> None:
    with shown(browser, auction, folder, "desk") as (page, _):
        unfold(page)
        heads: list[tuple[str, str]] = page.evaluate(
            """() => {
            const columns = 'main th[scope=col]:not(:empty), main dl.grid dt, .row.heads > span, figure h3';
            const tip = (head) => head.querySelector('.term')?.dataset.tip ?? '';
            return [...document.querySelectorAll(columns)].map((head) => [head.innerText.trim(), tip(head)]);
            }"""
        )
        assert len(heads) > 60
        assert [(text, tip) for text, tip in heads if len(tip) < len(text) + 8] == []
        fields = {*common_figures().seat, *figures_of("double_auction").seat, *figures_of("double_auction").market}
        names = [name for name in fields if "_" in name]
        said = page.evaluate("[...document.querySelectorAll('main > :not(pre)')].map((e) => e.innerText).join(' ')")
        assert [name for name in names if re.search(rf"\b{name}\b", said)] == []
        # The keyboard opens the text, Escape shuts it; the list at the foot has it for print.
        first = page.locator("#did dl.grid .term").first
        first.focus()
        tooltip = page.locator(".tooltip")
        assert tooltip.inner_text() == first.get_attribute("data-tip")
        page.keyboard.press("Escape")
        assert tooltip.is_hidden()
        assert tooltip.evaluate("(tip) => tip.textContent") in page.locator("#glossary").inner_text()
        keep(page, "auction-unfolded")


def test_a_trouble_is_red_and_told_in_one_sentence(browser: Browser, auction: Report, folder: Path) -> None:
    (episode,) = auction.data.episodes
    told = "Not reproduced: event 34 says 41, re-execution says 40. The figures below may be false."
    verdict = episode.verdict
    spoilt = verdict.model_copy(update={"status": "unsound", "sentences": (told, *verdict.sentences)})
    assert episode.verification is not None
    check = episode.verification.model_copy(update={"verdict": "diverged", "sound": False, "events": 33})
    page_of = episode.model_copy(update={"verdict": spoilt, "verification": check})
    data = PageData(mode="report", version="0", episodes=[page_of])
    with shown(browser, Report(html_page(data), data), folder, "phone") as (page, _):
        first = page.locator(".verdict h1")
        assert first.inner_text() == told
        reds = [part.evaluate("(part) => getComputedStyle(part).color") for part in (first, page.locator(".badge.bad"))]
        assert reds[0] == reds[1] != page.evaluate("getComputedStyle(document.body).color")
        assert page.locator(".badge.bad").inner_text() == "33 events sound, not reproduced"
        assert page.locator(".badge.good").count() == 0
        keep(page, "auction-trouble-phone")


def test_print_shows_everything_and_no_controls(browser: Browser, auction: Report, folder: Path) -> None:
    with shown(browser, auction, folder, "desk") as (page, _):
        assert page.locator("#market dl.grid").is_hidden()
        page.emulate_media(media="print")
        page.locator("#market dl.grid").wait_for()
        for part in ("#opponents table", "#evidence table", "#trace dl.grid", "#glossary dd", ".cases li"):
            assert page.locator(part).first.is_visible(), part
        assert page.locator(".strip nav").is_hidden()
        assert page.locator(".call-list").is_hidden()
        border = page.locator(".chip.case").first.evaluate("(chip) => getComputedStyle(chip).borderTopWidth")
        assert border == "0px"
        keep(page, "auction-print")
        page.emulate_media(media="screen")
        page.locator("#market dl.grid").wait_for(state="hidden")


def test_light_and_dark_change_places_by_a_click(browser: Browser, auction: Report, folder: Path) -> None:
    with shown(browser, auction, folder, "phone") as (page, _):
        paper = "getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(paper)
        page.get_by_role("button", name="Light or dark").click()
        dark = page.evaluate(paper)
        assert dark != light
        page.get_by_role("button", name="Light or dark").click()
        assert page.evaluate(paper) == light
        page.emulate_media(color_scheme="dark")
        assert page.evaluate(paper) == light, "who chose light keeps it"


def test_a_card_says_how_often_and_counts_no_cases_of_money(browser: Browser, store: Report, folder: Path) -> None:
    hoard = play_seats(folder / "hoard.trace", "retail/smoke", {"manager": "hoarder"}, 5, compared=["manager"])
    kinds: set[bool] = set()
    for report in (store, build_report([hoard], check=False)):
        raised = {row.finding.id: row.finding for row in report.data.episodes[0].raised}
        with shown(browser, report, folder, "phone") as (page, _):
            for card in page.locator("#findings li.finding").all():
                finding = raised[card.get_attribute("data-finding") or ""]
                said, many = card.locator(".head .num").first.inner_text(), f"{finding.count:,}"
                kinds.add(finding.amount == finding.count)
                whole = re.escape(f"{many} of {finding.of:,g}")
                share = rf"{many} cases?, (below 1|\d+) %"
                assert re.fullmatch(whole if finding.amount == finding.count else share, said)
                hidden = finding.count - card.locator(".chips .case").count()
                assert ("more" in card.locator(".chips").inner_text()) == (hidden > 0)
    assert kinds == {True, False}


def test_a_phone_has_the_list_of_calls_and_a_panel_from_below(browser: Browser, store: Report, folder: Path) -> None:
    with shown(browser, store, folder, "phone") as (page, _):
        assert page.locator("canvas.marks").is_hidden()
        assert page.locator(".calls [role=option]").first.is_visible()
        unfold(page)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        page.locator(".verdict .mistake").click()
        page.locator("aside.detail .cites").wait_for()
        box = page.locator("aside.detail").bounding_box()
        assert box is not None
        assert (box["x"], box["width"]) == (0, 390)
        assert box["y"] > 100
        assert round(box["y"] + box["height"]) == 844
        keep(page, "store-phone-event")


def test_the_list_of_calls_is_of_the_seat_and_says_what_it_did(browser: Browser, auction: Report, folder: Path) -> None:
    with shown(browser, auction, folder, "desk") as (page, _):
        rows = page.locator(".calls [role=option]")
        assert set(rows.locator("bdi:nth-child(3)").all_inner_texts()) == {"B1"}
        assert any(re.fullmatch(r"submit_quote \d+", text) for text in rows.locator(".tool").all_inner_texts())
        page.get_by_text("filter calls").click()
        page.locator(".filter select").first.select_option("")
        count = page.locator("#timeline .count").inner_text()
        seen, _, everything = count.removesuffix(" calls").partition(" of ")
        assert seen == everything


def _transcript(noted: int) -> list[dict[str, Any]]:
    """Two requests of a seat, as `transcript_of` makes them: the second repeats the first, whose call was refused."""
    plain: dict[str, Any] = {"calls": [], "answers": "", "cut": None}
    asked = [["c1", "submit_quote", '{"price": 19}']]
    messages = [
        {"role": "system", "text": "You are B1.", **plain},
        {"role": "user", "text": f"Round 1. {HOSTILE_TEXT}", **plain},
        {"role": "assistant", "text": "I bid low.", **plain, "calls": asked},
        {"role": "tool", "text": "price_not_allowed", **plain, "answers": "c1"},
    ]
    call = {"phase": "quote", "role": "actor", "finish": "tool_calls", "status": 200, "input_tokens": 90}
    first = {**call, "id": "r1.0", "note": 0, "round": 1, "same": 0, "shown": [0, 1], "new": [0, 1], "tools": 0}
    later = {**call, "id": "r1.1", "note": noted, "round": 2, "same": 2, "shown": [2, 3], "new": [2, 3], "tools": 0}
    replies = [
        {**first, "output_tokens": 7, "events": [17], "refused": [17], "answer": messages[2]},
        {
            **later,
            "output_tokens": 3,
            "events": [],
            "refused": [],
            "answer": {"role": "assistant", "text": "", **plain},
        },
    ]
    tools = [{"names": ["submit_quote", "view_my_value"], "text": "[]"}]
    return [{"seat": "B1", "kept": True, "remark": "", "messages": messages, "tools": tools, "calls": replies}]


def test_the_transcript_leads_to_events_and_back_and_keeps_hostile_text_as_text(
    browser: Browser, auction: Report, folder: Path
) -> None:
    (shown_first,) = auction.data.episodes
    mistake = shown_first.verdict.seats[0].mistake
    assert mistake is not None
    # The notes are one per round.
    episode = shown_first.model_copy(update={"transcript": pack_json(_transcript(mistake.round - 1))})
    data = PageData(mode="report", version="0", episodes=[episode])
    with shown(browser, Report(html_page(data), data), folder, "desk") as (page, _):
        page.get_by_role("button", name="transcript").click()
        page.locator(".exchange").nth(1).wait_for()
        assert page.locator("#findings").count() == 0
        assert page.locator(".verdict h1").is_visible()
        assert page.locator(".exchange").nth(1).get_by_text("2 messages as before").is_visible()
        wrong = page.locator(".message.wrong, .made.wrong")
        assert {"price_not_allowed", 'submit_quote {"price": 19} #17'} <= {
            text.split("\n")[-1] for text in wrong.all_inner_texts()
        }
        assert "⟦U+202E⟧esrever" in page.locator(".transcript").inner_text()
        assert page.evaluate("window.__pwned") is None
        keep(page, "auction-transcript")
        page.get_by_role("searchbox").fill("bid LOW")
        page.locator("mark", has_text="bid low").first.wait_for()
        page.get_by_role("searchbox").fill("no such words")
        page.get_by_text("No message holds this text.").wait_for()
        page.get_by_role("searchbox").fill("")
        page.locator(".exchange [data-seq='17']").first.click()
        page.locator("aside.detail h2", has_text="#17").wait_for()
        page.keyboard.press("Escape")
        page.get_by_role("button", name="transcript").click()
        page.locator(".verdict .mistake").click()
        page.locator("aside.detail .messages").click()
        assert page.locator(".exchange").nth(1).evaluate("(part) => part === document.activeElement")


def test_without_prompts_the_transcript_says_so(browser: Browser, auction: Report, folder: Path) -> None:
    with shown(browser, auction, folder, "phone") as (page, _):
        page.get_by_role("button", name="transcript").click()
        page.get_by_text("No prompts were kept").wait_for()
        assert page.locator(".exchange").count() == 30


def test_two_traces_have_two_verdicts(browser: Browser, auction: Report, folder: Path) -> None:
    traces = [folder / "bazaar.trace", folder / "references" / "kaplan.trace"]
    report = build_report(traces, compare=True, check=False)
    (folder / "pair.html").write_bytes(report.html)
    with watched(browser) as seen:
        page = seen.show((folder / "pair.html").as_uri())
        verdicts = [episode.verdict.text for episode in report.data.episodes]
        assert verdicts[0] != verdicts[1]
        for place, side in enumerate(page.locator(".leads .side").all()):
            first = side.locator("h1").inner_text()
            assert verdicts[place].startswith(first.removesuffix("."))
            assert side.locator(".badge").inner_text().endswith("not checked")
        keep(page, "pair")
        assert seen.errors == []
