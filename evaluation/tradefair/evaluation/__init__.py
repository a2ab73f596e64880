"""Audit: what traces say about an episode, whether they can be trusted, and foreign logs turned into traces.

Input is traces only; everything here is total: an odd trace gives a verdict or a finding, never an exception.
"""
