"""A scripted policy of your own in one seat: a class whose method `turn` yields calls and is sent their answers.

Run it: .venv/bin/python examples/own_policy.py
"""

import tradefair.api as tf
from tradefair.contract import ToolCall, Turns


class ShrinkingMargin:
    """For a buyer: wants 30 % of its value in the first round and nothing in the last."""

    def turn(self, now: tf.TurnView) -> Turns:
        own = yield ToolCall("view_my_value")
        left, value = own.data["rounds_left"], own.data["value"]
        margin = value * 3 * (left - 1) // (10 * (left + now.round - 2 or 1))
        yield ToolCall("submit_quote", {"price": value - margin})


trace = tf.play("double_auction", seed=7, agent=ShrinkingMargin, others="zip")
for seat, result in trace.outcome.seats.items():
    print(f"{seat} {result.label}: payoff {result.payoff}")
print("verify:", trace.verify().verdict)
