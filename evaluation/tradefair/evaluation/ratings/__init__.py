"""Ratings of labels over many episodes: TrueSkill, Glicko-2 with margin, fractional Bradley–Terry, shares, duels.

Small numpy code of our own, because no library has margins, fractional results or hundreds of shuffled passes.
"""
