"""tradefair in Python: play episodes, take a seat, load traces, and read them as tables.

    import tradefair.api as tf

    trace = tf.play("double_auction", seed=7, agent="policy:zip")
    print(trace.outcome.seats["B1"].payoff, trace.verify().sound)

The names of `__init__.pyi` are promised; they load on first use.
"""

from typing import Any

import lazy_loader

# lazy_loader brings no types of its own; the stub next to this file has those of the names.
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # pyright: ignore[reportUnknownVariableType]


def __getattr__(name: str) -> Any:
    try:
        return _load(name)
    except AttributeError:
        # Python and its tools ask for names with underscores that need not be there.
        if name in __all__ or name.startswith("_"):
            raise
        from tradefair.contract.errors import unknown

        raise AttributeError(f"tradefair.api: {unknown('name', name, __all__)}") from None  # pyright: ignore[reportUnknownArgumentType]
