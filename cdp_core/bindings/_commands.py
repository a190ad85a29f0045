"""One command of the protocol: its params, the JSON that is sent, and the reading of its result.

A result is read like any other JSON: it never raises outside strict mode. A result that is not an object is counted,
and read as one without fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from importlib import import_module
from types import MappingProxyType
from typing import Any

from cdp_core.bindings import _drift, _strict
from cdp_core.bindings._shapes import FieldSpec, Spec, take, to_json
from cdp_core.bindings._values import NULL, Command, Value, make_value
from cdp_core.errors import InvalidArgument, RemoteProtocolError
from cdp_core.sansio.messages import Json, Result, is_object
from cdp_core.sansio.structs import DECODE_ERRORS


class CommandSpec:
    """The specification of one command: its parameters and its result."""

    def __init__(
        self,
        method: str,
        params: Sequence[FieldSpec],
        result: Callable[[], type[Value] | None],
        factory: tuple[str, str],
    ) -> None:
        """`factory` is the module and the name of the function that makes such commands."""
        self.method = method
        self.params = Spec(method, params)
        self._result = result
        self._factory = factory

    @cached_property
    def result(self) -> type[Value] | None:
        """The class of the result; None if the command has no result."""
        return self._result()

    def accept(self, given: Mapping[str, Any], what: str) -> tuple[tuple[str, Any], ...]:
        """Check the caller's params, and return them under the protocol's names.

        Raises TypeError or InvalidArgument.
        """
        fields = self.params.by_name
        taken = take(fields, given, what)
        return tuple((fields[name].wire, value) for name, value in taken.items() if value is not None)

    def read(self, given: object) -> tuple[tuple[str, Any], ...]:
        """Read params from their protocol form; a misfit is counted, and does not raise."""
        params: Json = dict(given) if isinstance(given, Mapping) else self._no_object("params")  # pyright: ignore[reportUnknownArgumentType]
        source = self.params.read(deepcopy(params))
        named = [
            (field.wire, NULL if name in source.nulls else source.__dict__[name])
            for name, field in self.params.by_name.items()
            if field.wire in params
        ]
        return (*named, *source.extra.items())

    def to_params(self, params: Sequence[tuple[str, Any]]) -> Json:
        return {wire: to_json(value) for wire, value in params}

    def parse(self, result: object) -> Value | None:
        kind = self.result
        if kind is None:
            for wire in self._fields(result):
                _drift.count("unknown_fields", self.method, wire)
            return None
        if isinstance(result, Result):
            try:
                return make_value(kind, self._decode(result.raw))  # type: ignore[no-any-return]
            except DECODE_ERRORS:
                pass
        return make_value(kind, kind.__cdp_spec__.read(self._fields(result)))  # type: ignore[no-any-return]

    def _fields(self, result: object) -> Json:
        try:
            fields: object = result.value if isinstance(result, Result) else result
        except RemoteProtocolError:
            fields = None
        return fields if is_object(fields) else self._no_object("result")

    def _no_object(self, what: str) -> Json:
        _drift.count("other_types", self.method, what)
        return {}

    @cached_property
    def _decode(self) -> Callable[[Any], Any]:
        assert self.result is not None
        return _strict.strict_decoder(self.result.__cdp_spec__.twin)

    # ── introspection and pickling ───────────────────────────────────────────────────────────────────────────────────

    @property
    def marks(self) -> Mapping[str, Mapping[str, Any]]:
        """The metadata of each parameter, in the same form as the metadata of a field."""
        return MappingProxyType({name: field.metadata for name, field in self.params.by_name.items()})

    def reduce(self, params: tuple[tuple[str, Any], ...]) -> tuple[Any, ...]:
        """Pickle a command by the module and the name of its function, as classes and functions are."""
        return _restore, (*self._factory, params)


def _restore(module: str, name: str, params: tuple[tuple[str, Any], ...]) -> Command[Any]:
    try:
        spec: object = getattr(getattr(import_module(module), name, None), "__cdp_spec__", None)
    except ImportError:
        spec = None
    if not isinstance(spec, CommandSpec):
        raise InvalidArgument(
            f"The command {module}.{name} does not exist here; the pickle was made with other bindings."
        )
    return Command(spec.method, params, spec)
