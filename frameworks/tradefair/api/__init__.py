"""tradefair in Python: play episodes, take a seat, load traces, and read them as tables.

    import tradefair.api as tf

    trace = tf.play("double_auction", seed=7, agent="policy:zip")
    print(trace.outcome.seats["B1"].payoff, trace.verify().sound)

The names of `__init__.pyi` are promised; they load on first use.
"""

from tradefair.contract.faces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
