"""The analyst's side that needs no model: what it is shown, what of its words is used, what is kept of them.

Whoever asks a model lives in `tradefair.runner.analyst`. Nothing here is an input of an outcome, finding or rating.
"""
