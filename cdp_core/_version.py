"""The versions of the distribution and of the protocol that its typed bindings describe.

`cdp_core.bindings.PROTOCOL` is the same text (tests/shape/test_exports.py); this copy can be read without importing
the bindings.
"""

__version__ = "0.1.0"
PROTOCOL = "devtools-protocol 0.0.1707781"
