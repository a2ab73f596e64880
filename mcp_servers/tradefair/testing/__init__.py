"""The conformance kit for authors of markets: play a market hard and say what it does wrong.

    from tradefair.testing import check_market

    def test_my_market_keeps_the_contract() -> None:
        assert check_market(MARKET) == []

Each check also stands alone: `CHECKS["non_interference"](Bench(MARKET))`. `open_seat` opens a seat as an MCP client in
memory, `play_scripted` plays whole episodes of policies without a host. The names of `__init__.pyi` are promised; they
load on first use.
"""

from tradefair.contract.faces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
