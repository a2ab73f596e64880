"""A hundred episodes of one seat, stepped together without a server: which constant quote earns most?"""

import tradefair.api as tf


def mean_reward(price: int) -> float:
    batch = tf.batch("double_auction", "double_auction/smoke", "B1", seeds=range(100))
    while any(views := batch.views()):
        batch.call([view and tf.ToolCall("submit_quote", {"price": price}) for view in views])
    return sum(reward.value or 0 for reward in batch.rewards()) / 100


for price in range(50, 100, 10):
    print(price, mean_reward(price))
