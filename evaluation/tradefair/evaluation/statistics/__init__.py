"""Statistics of episodes, mostly paired: small code of our own, checked against scipy. Student's t is scipy's."""

from tradefair.evaluation.statistics.counts import fisher_p, kaplan_meier, mcnemar_p, pass_hat_k
from tradefair.evaluation.statistics.paired import (
    FLIPS_EXACT_TO,
    SignFlip,
    compared,
    exchange,
    holm,
    interval,
    mean_sd,
    minimum_detectable,
    pairs_needed,
    percentile,
    resamples,
    sign_flip,
)

__all__ = [
    "FLIPS_EXACT_TO",
    "SignFlip",
    "compared",
    "exchange",
    "fisher_p",
    "holm",
    "interval",
    "kaplan_meier",
    "mcnemar_p",
    "mean_sd",
    "minimum_detectable",
    "pairs_needed",
    "pass_hat_k",
    "percentile",
    "resamples",
    "sign_flip",
]
