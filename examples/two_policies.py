"""Two scripted policies on the same luck: play both on 20 seeds, compare them, read the figures as a table.

Run it: .venv/bin/python examples/two_policies.py
"""

import tradefair.api as tf

for name in ("zip", "gd"):
    for seed in range(20):
        tf.play("double_auction", seed=seed, agent=f"policy:{name}", folder=f"runs/{name}")
print(tf.compare("runs/zip", "runs/gd").verdict)
for row in tf.load("runs/zip").outcomes().rows():
    if row["name"] == "payoff":
        print(row)
