"""One module per contender, each with its own implementation of `measure.Client`.

Apart from variants of one client, adapters share nothing but the raw socket of the limits.
"""
