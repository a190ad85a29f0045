"""The version of the distribution, and of the protocol that its bindings are of, where everything can read them.

`cdp_core.bindings.PROTOCOL` says the same (tests/shape/test_exports.py); who only writes it down need not import that.
"""

__version__ = "0.1.0"
PROTOCOL = "devtools-protocol 0.0.1707781"
