from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.marketplace.engine.ledger import ENDOWMENT, ESCROW, Ledger

ACCOUNTS = ("c0001", "c0002", "b0001", ESCROW, ENDOWMENT)
TRANSFERS = st.lists(
    st.tuples(st.sampled_from(ACCOUNTS), st.sampled_from(ACCOUNTS), st.integers(-1, 10**13)), max_size=30
)


def opened() -> Ledger:
    return Ledger(("c0001", "c0002", "b0001"))


@given(TRANSFERS)
def test_the_sum_of_all_accounts_is_zero_after_every_transfer(transfers: list[tuple[str, str, int]]) -> None:
    ledger, done = opened(), 0
    for payer, payee, cents in transfers:
        before = (ledger.entries, ledger.digest())
        try:
            ledger.transfer(1, payer, payee, cents, "p-b0001-c0001-1")
        except ValueError:
            assert cents < 0 or payer == payee
            assert (ledger.entries, ledger.digest()) == before
        else:
            assert cents >= 0
            done += 1
        assert sum(map(ledger.balance, ACCOUNTS)) == 0
        ledger.check()
    assert len(ledger.entries) == done


def test_a_transfer_moves_exactly_its_cents() -> None:
    ledger = opened()
    ledger.transfer(0, ENDOWMENT, "c0001", 5_000, "budget")
    ledger.transfer(3, "c0001", ESCROW, 1_351, "p-b0001-c0001-1")
    ledger.transfer(4, ESCROW, "b0001", 1_351, "p-b0001-c0001-1")
    assert [ledger.balance(account) for account in ACCOUNTS] == [3_649, 0, 1_351, 0, -5_000]


def test_nothing_is_taken_from_who_is_paid() -> None:
    with pytest.raises(ValueError, match="cannot pay -1"):
        opened().transfer(1, "c0001", "b0001", -1, "p-b0001-c0001-1")


@pytest.mark.parametrize(("payer", "payee"), [("nobody", "b0001"), ("c0001", "nobody"), ("c0001", "c0001")])
def test_no_account_is_made_up(payer: str, payee: str) -> None:
    with pytest.raises(ValueError, match="cannot pay"):
        opened().transfer(1, payer, payee, 1, "x")


def test_the_digest_tells_different_pasts_apart() -> None:
    one, other = opened(), opened()
    one.transfer(1, "c0001", "b0001", 5, "p")
    one.transfer(1, "b0001", "c0001", 5, "p")
    assert [one.balance(account) for account in ACCOUNTS] == [other.balance(account) for account in ACCOUNTS]
    assert one.digest() != other.digest()


def test_a_tampered_balance_is_noticed() -> None:
    ledger = opened()
    ledger._balances["c0001"] = 1  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(AssertionError, match="differ"):
        ledger.check()
