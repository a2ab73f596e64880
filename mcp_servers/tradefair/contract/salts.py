"""Keys of random streams and digests. They are data: other bytes are other luck.

They keep the project's first name, byte for byte: renaming one changes every figure that was ever published.
"""

CHANCE = b"fairground.chance/1"  # contract/chance.py: all luck of every market
POLICY = "fairground.policy/1"  # contract/policy.py: the draws of scripted policies
PERMUTATION = "fairground.evaluation.permutation_test/1"  # the marketplace's experiments
COLLUSION = "fairground.evaluation.collusion/1"  # evaluation/statistics/nulls.py: the draws of its p-values
SIGN_FLIP = "fairground.evaluation.sign_flip/1"  # evaluation/statistics/paired.py
WORKLOAD = "fairground.episode/1"  # runner/plans/episodes.py: a sweep that was begun can be resumed
FENCE = b"tradefair.fence/1"  # host/server/wire.py: marks around what other seats wrote
KIT = "fairground.testing"  # testing/questions.py: the arguments that the conformance kit invents
