"""Diagnostics: how an agent went about a market, in figures, and which failure modes a detector found.

`diagnosis` is what every market's diagnosis is made of, `evidence` the index of what a seat had looked at. A market's
own stages and detectors lie in `markets/<market>/modes`.
"""
