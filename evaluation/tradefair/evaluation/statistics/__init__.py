"""Statistics of episodes, mostly paired: small code of our own, checked against scipy."""

from tradefair.evaluation.statistics.counts import fisher_p, kaplan_meier, mcnemar_p, pass_hat_k
from tradefair.evaluation.statistics.paired import (
    FLIPS_EXACT_TO,
    GAMES_TO_TELL,
    SignFlip,
    compared,
    exchange,
    games_needed,
    holm,
    interval,
    mean_sd,
    percentile,
    resamples,
    sign_flip,
)

__all__ = [
    "FLIPS_EXACT_TO",
    "GAMES_TO_TELL",
    "SignFlip",
    "compared",
    "exchange",
    "fisher_p",
    "games_needed",
    "holm",
    "interval",
    "kaplan_meier",
    "mcnemar_p",
    "mean_sd",
    "pass_hat_k",
    "percentile",
    "resamples",
    "sign_flip",
]
