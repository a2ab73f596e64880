from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tradefair.contract.chance import Chance, KeyPart, encode_key

_KEYS = st.lists(st.one_of(st.integers(-(10**9), 10**9), st.text(max_size=8)), max_size=5)


@given(st.integers(0, 2**63 - 1), _KEYS, _KEYS)
def test_a_branch_draws_the_uniforms_of_the_whole_key(seed: int, first: list[KeyPart], rest: list[KeyPart]) -> None:
    chance = Chance(seed)
    branch = chance.under("stream", *first)
    whole = chance.uniform("stream", *first, *rest)
    assert branch.uniform(*rest) == whole
    assert branch.uniform("another", *rest) != whole
    assert branch.uniform(*rest) == whole


@given(st.integers(0, 2**63 - 1), st.lists(_KEYS, max_size=5))
def test_many_draws_of_a_branch_are_its_single_draws(seed: int, keys: list[list[KeyPart]]) -> None:
    branch = Chance(seed).under("stream", 7)
    assert branch.each([encode_key(*key) for key in keys]) == [branch.uniform(*key) for key in keys]
