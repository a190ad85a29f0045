"""Tools for those who test against the protocol: shipped, documented, typed.

`check_transport` is the conformance test for a transport of your own. Nothing here imports pytest or Hypothesis.
"""

from cdp_core.testing.transport_check import TransportPair, check_transport

__all__ = ["TransportPair", "check_transport"]
