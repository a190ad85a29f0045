"""The version of the distribution, in the one place that everything else reads."""

__version__ = "0.1.0"
