"""What calls cost: exact, and unknown rather than nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tradefair.contract import ScenarioError
from tradefair.frameworks.models.prices import PRICES, cost_usd_micro, load_prices

_OWN = """
version = 1
[[lists]]
provider = "us"
as_of = "2026-01-01"
source = "contract"
[lists.models]
"gpt-4o" = { input = 1, output = 2.5 }
"tiny" = { input = 0.1, cached_input = 0.0000005, output = 0.3 }
"""


@pytest.mark.parametrize(
    ("model", "tokens", "cost"),
    [
        ("gpt-4o", (1_000_000, 0, 0), 2_500_000),
        ("gpt-4o", (1_000_000, 400_000, 100_000), 600_000 * 5 // 2 + 400_000 * 5 // 4 + 1_000_000),
        ("gpt-4o-2024-08-06", (2, 0, 1), 15),
        ("openai:gpt-4o-mini", (7, None, 3), 3),
        ("claude-haiku-4-5-20251001", (10, 10, 0), 1),
        ("policy:zip(step=0.1)", (10**9, 0, 10**9), 0),
        ("policy:zip", (None, None, None), 0),
    ],
)
def test_a_call_costs_its_tokens_at_the_list_price(
    model: str, tokens: tuple[int | None, int | None, int | None], cost: int
) -> None:
    assert cost_usd_micro(model, *tokens) == cost


def test_half_a_micro_dollar_goes_to_the_even_one() -> None:
    assert [cost_usd_micro("gpt-4o", tokens, 0, 0) for tokens in (1, 3, 5)] == [2, 8, 12]


@pytest.mark.parametrize("model", [None, "llama3", "mine/gpt-4o", "gpt-4o-mini-tuned", ""])
def test_a_model_that_is_not_listed_has_no_known_cost(model: str | None) -> None:
    assert cost_usd_micro(model, 10, 0, 10) is None


@pytest.mark.parametrize("tokens", [(None, 0, 1), (1, 0, None)])
def test_a_call_whose_tokens_nobody_stated_has_no_known_cost(tokens: tuple[int | None, int, int | None]) -> None:
    assert cost_usd_micro("gpt-4o", *tokens) is None


def test_more_cached_tokens_than_there_are_count_once() -> None:
    assert cost_usd_micro("gpt-4o", 4, 9, 0) == 5


def test_a_users_own_prices_go_first_and_leave_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "prices.toml"
    own.write_text(_OWN)
    assert cost_usd_micro("gpt-4o", 10, 10, 2, prices=own) == 15
    assert cost_usd_micro("gpt-4o", 10, 10, 2) == 32
    monkeypatch.setenv(PRICES, str(own))
    assert cost_usd_micro("gpt-4o", 10, 10, 2) == 15
    assert cost_usd_micro("o3", 1, 0, 0) == 2
    assert cost_usd_micro("tiny", 1_000_010, 1_000_000, 0) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("version = 2\nlists = []", "version"),
        ("x", "not valid TOML"),
        (_OWN.replace("2.5", "-1"), "output"),
        (_OWN.replace("2.5", "nan"), "output"),
        (_OWN.replace("input = 1,", ""), "input"),
    ],
)
def test_a_file_that_is_no_table_of_prices_says_where(tmp_path: Path, text: str, said: str) -> None:
    own = tmp_path / "prices.toml"
    own.write_text(text)
    with pytest.raises(ScenarioError, match=said):
        load_prices(own)
    with pytest.raises(ScenarioError, match="cannot be read"):
        load_prices(tmp_path / "none.toml")
