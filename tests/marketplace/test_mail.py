from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.marketplace.engine.mail import Inbox, Letter

SENDERS = ("b0001", "b0002", "b0003")
MAIL = st.lists(st.tuples(st.sampled_from(SENDERS), st.text(max_size=20)), max_size=60)


def filled(mail: list[tuple[str, str]]) -> Inbox:
    inbox = Inbox()
    for round_number, (sender, text) in enumerate(mail):
        inbox.deliver("message", sender, round_number, text=text)
    return inbox


@given(MAIL, st.integers(1, 7), st.sampled_from([None, *SENDERS]))
def test_a_walk_with_any_page_size_gives_every_letter_exactly_once(
    mail: list[tuple[str, str]], size: int, sender: str | None
) -> None:
    inbox = filled(mail)
    walked: list[Letter] = []
    cursor, more = 0, True
    before = inbox.digest()
    while more:
        page = inbox.page(cursor, size, sender)
        walked += page.letters
        assert len(page.letters) <= size
        assert page.more == (page.unread > 0)
        cursor, more = page.cursor, page.more
    expected = [(each, text) for each, text in mail if sender in (None, each)]
    assert [(letter.sender, letter.text) for letter in walked] == expected
    assert inbox.page(cursor, size, sender).letters == ()
    assert inbox.digest() == before


@given(MAIL)
def test_numbers_have_no_gaps(mail: list[tuple[str, str]]) -> None:
    inbox = filled(mail)
    assert [letter.number for letter in inbox.page(0, 100).letters] == list(range(1, len(mail) + 1))
    assert len(inbox) == len(mail)


def test_what_arrives_between_two_pages_is_on_the_next_one() -> None:
    inbox = filled([("b0001", "a"), ("b0002", "b")])
    first = inbox.page(0, 10)
    inbox.deliver("proposal_received", "b0002", 3, proposal="p-b0002-c0001-1")
    second = inbox.page(first.cursor, 10)
    assert [(letter.number, letter.proposal) for letter in second.letters] == [(3, "p-b0002-c0001-1")]
    assert inbox.page(first.cursor, 10, "b0001").letters == ()


@pytest.mark.parametrize("after", [2, 99, 2**31])
def test_a_cursor_past_the_end_gives_nothing_and_stays(after: int) -> None:
    assert filled([("b0001", "a"), ("b0002", "b")]).page(after, 10) == ((), after, False, 0)


def test_who_has_written_is_known() -> None:
    inbox = filled([("b0001", "a")])
    assert (inbox.heard_from("b0001"), inbox.heard_from("b0002")) == (True, False)


def test_equal_texts_by_others_have_another_digest() -> None:
    assert filled([("b0001", "a")]).digest() != filled([("b0002", "a")]).digest()
