"""The module of a domain: a table, and classes and functions that are made from it at their first use.

Importing the module of a domain costs next to nothing; making a class costs a fraction of a millisecond, and a program
uses a few of the 1,500. People and type checkers read the `.pyi` of each module instead.

Every name is made once: two threads that access one at the same moment get the same object.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module
from types import GenericAlias, MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NewType, cast

import attrs

from cdp_core.bindings import _catalog
from cdp_core.bindings._commands import CommandSpec
from cdp_core.bindings._names import class_name, field_name, member_name, result_name
from cdp_core.bindings._shapes import (
    ArrayShape,
    EnumShape,
    FieldSpec,
    ObjectShape,
    PlainShape,
    Shape,
    Spec,
)
from cdp_core.bindings._tables import Table, Texts
from cdp_core.bindings._values import Command, EnumValue, EventValue, Value
from cdp_core.errors import InvalidArgument
from cdp_core.sansio import messages

if TYPE_CHECKING:
    from typing_extensions import Self

OWN_NAMES: Final[Mapping[str, Any]] = {
    "Browser.BrowserContextID": messages.BrowserContextId,
    "Target.SessionID": messages.SessionId,
    "Target.TargetID": messages.TargetId,
}
"""The ids that the engine uses too: the engine's types stand for the protocol's, so that each id has one type."""

PAGES: Final = "https://chromedevtools.github.io/devtools-protocol/tot/"

_PYTHON: Final[Mapping[str, Any]] = {
    "str": str,
    "int": int,
    "num": float,
    "bool": bool,
    "obj": dict[str, Any],
    "any": object,
}


STUB_TYPES: Final = {"str": "str", "int": "int", "num": "float", "bool": "bool", "obj": "dict[str, Any]", "any": "Any"}

_new_type: Final[Callable[[str, Any], Any]] = NewType
"""Hidden behind a variable: type checkers require a literal name in NewType, and they read the stub anyway."""


class Domain:
    """One domain of the protocol, behind a generated module."""

    def __init__(
        self,
        module: str,
        name: str,
        marks: str,
        *,
        names: Mapping[str, tuple[str, str]],
        enums: Mapping[str, Texts],
        objects: Mapping[str, Texts],
        commands: Mapping[str, tuple[str, Texts, Texts]],
        events: Mapping[str, Texts],
    ) -> None:
        self.module = module
        self.name = name
        self.table = Table(
            name=name, marks=marks, names=names, enums=enums, objects=objects, commands=commands, events=events
        )
        self._shapes: dict[str, Shape] = {}

    # ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def make(self, name: str) -> Any:
        """Make the object of a name: the module's `__getattr__`."""
        if name == "__all__":
            return list(self._makers)
        maker = self._makers.get(name)
        if maker is None:
            raise AttributeError(f"The domain {self.name} has no {name!r}; dir({self.module}) lists its names.")
        # If two threads make the same name, both get the first object.
        return vars(sys.modules[self.module]).setdefault(name, maker(name))

    def names(self) -> list[str]:
        """List the names of the domain: the module's `__dir__`."""
        return [*{*self._makers, *vars(sys.modules[self.module])}]

    def get(self, name: str) -> Any:
        """Return the object of a name, made if necessary."""
        return getattr(sys.modules[self.module], name)

    @cached_property
    def _makers(self) -> Mapping[str, Callable[[str], Any]]:
        table = self.table
        return {
            **dict.fromkeys(table.names, self._make_name),
            **dict.fromkeys(table.enums, self._make_enum),
            **dict.fromkeys(table.objects, self._make_object),
            **{class_name(event): self._maker_of_event(event) for event in table.events},
            **{field_name(command): self._maker_of_command(command) for command in table.commands},
            **{
                result_name(command): self._maker_of_result(command)
                for command, (_, _, returns) in table.commands.items()
                if returns
            },
        }

    def event(self, event: str) -> type[EventValue] | None:
        """Return the class of an event by the protocol's name; None if it is unknown."""
        return self.get(class_name(event)) if event in self.table.events else None

    def command(self, command: str) -> CommandSpec | None:
        """Return the specification of a command by the protocol's name; None if it is unknown."""
        return self.get(field_name(command)).__cdp_spec__ if command in self.table.commands else None

    # ── types ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def shape(self, kind: str) -> Shape:
        """Return the shape of a type, given its name in the tables of this domain."""
        found = self._shapes.get(kind)
        if found is None:
            found = self._shapes[kind] = self._make_shape(kind)
        return found

    def _make_shape(self, kind: str) -> Shape:
        if kind.startswith("["):
            return ArrayShape(self.shape(kind[1:-1]))
        if kind in _PYTHON:
            return PlainShape(kind)
        owner, _, name = kind.rpartition(".")
        domain = self._owner(owner, kind)
        if domain is not self:
            return domain.shape(name)
        if name in self.table.objects:
            return ObjectShape(lambda: self.get(name))
        if name in self.table.enums:
            return EnumShape(self.get(name))
        return self.shape(self.table.names[name][1])

    def _make_name(self, name: str) -> Any:
        marks, kind = self.table.names[name]
        item = f"{self.name}.{name}"
        doc = self._doc(item, marks, f"type-{name}")
        own = OWN_NAMES.get(item)
        if own is not None:
            own.__doc__ = doc
            return own
        python = self._python(kind)
        if isinstance(python, GenericAlias):
            return _NamedAlias(python, doc, (self, name))
        if kind not in _PYTHON or kind == "any":
            return python
        made = _new_type(name, python)
        made.__module__ = self.module
        made.__doc__ = doc
        made.__cdp_name__ = (self, name)
        return made

    def __getitem__(self, kind: str) -> Any:
        """Return the Python type for a type name of this domain; annotations of classes use it."""
        return Any if kind == "any" else self._python(kind)

    def _python(self, kind: str) -> Any:
        if kind.startswith("["):
            return GenericAlias(tuple, (self._python(kind[1:-1]), ...))
        if kind in _PYTHON:
            return _PYTHON[kind]
        owner, _, name = kind.rpartition(".")
        return self._owner(owner, kind).get(name)

    def _owner(self, owner: str, kind: str) -> Domain:
        """Return the domain of a type, given its prefix, which is empty for a type of this domain."""
        if not owner or owner == self.name:
            return self
        domain = self._domain_in_package(owner) or _catalog.domain_named(owner)
        if domain is None:
            raise InvalidArgument(
                f"{self.module} refers to {kind}, but no module has the domain {owner}; register it first."
            )
        return domain

    def _domain_in_package(self, owner: str) -> Domain | None:
        """Find a domain in the package of this module, if that is not cdp_core.bindings.

        Its types are used whether or not it is registered.
        """
        package, _, _own = self.module.rpartition(".")
        if package in ("", "cdp_core.bindings"):
            return None
        name = f"{package}.{module_of(owner)}"
        try:
            found: object = getattr(import_module(name), "DOMAIN", None)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            return None
        return found if isinstance(found, Domain) and found.name == owner else None

    def _make_enum(self, name: str) -> type[EnumValue]:
        marks, *members = self.table.enums[name]
        item = f"{self.name}.{name}"
        known: dict[str, EnumValue] = {}
        kind = type(
            name,
            (EnumValue,),
            {
                "__slots__": (),
                "__module__": self.module,
                "__qualname__": name,
                "__doc__": self._doc(item, marks, f"type-{name}"),
                "__cdp_item__": item,
                "__cdp_members__": MappingProxyType(known),
            },
        )
        for member in members:
            known[member] = str.__new__(kind, member)
            type.__setattr__(kind, member_name(member), known[member])
        return kind

    # ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _make_object(self, name: str) -> type[Value]:
        marks, *fields = self.table.objects[name]
        item = f"{self.name}.{name}"
        return self._make_value(name, Value, item, self._doc(item, marks, f"type-{name}"), fields)

    def _maker_of_event(self, event: str) -> Callable[[str], Any]:
        def make(name: str) -> type[Value]:
            marks, *fields = self.table.events[event]
            method = f"{self.name}.{event}"
            kind = self._make_value(name, EventValue, method, self._doc(method, marks, f"event-{event}"), fields)
            kind.__cdp_method__ = method  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
            return kind

        return make

    def _maker_of_result(self, command: str) -> Callable[[str], Any]:
        def make(name: str) -> type[Value]:
            marks, _params, returns = self.table.commands[command]
            method = f"{self.name}.{command}"
            doc = self._doc(method, marks, f"method-{command}", "What {} brings")
            return self._make_value(name, Value, f"{self.name}.{name}", doc, returns)

        return make

    def _make_value(self, name: str, base: type[Value], item: str, doc: str, texts: Texts | list[str]) -> type[Value]:
        fields = [FieldSpec(text, self.shape) for text in texts]
        spec = Spec(item, fields)
        body: dict[str, Any] = {
            "__slots__": tuple(f"_kept_{field.name}" for field in fields if field.shape.kept),
            "__module__": self.module,
            "__qualname__": name,
            "__doc__": doc,
            "__annotations__": {field.name: _hint(field) for field in fields},
            "__cdp_spec__": spec,
        }
        kind: type[Value] = type(name, (base,), body)
        spec.kind = kind
        for field in fields:
            setattr(kind, field.name, property(field.shape.getter(field.name)))
        made: type[Value] = attrs.frozen(
            kind,
            these={field.name: _attribute(field) for field in fields},
            kw_only=True,
            init=False,
            eq=False,
            repr=False,
            slots=False,
            match_args=False,
        )
        if "__replace__" in vars(made):
            delattr(made, "__replace__")  # attrs 25.1 and later add it, as attrs.evolve
        return made

    def _doc(self, item: str, marks: str, anchor: str, what: str = "{}") -> str:
        """Return a docstring of one line: the item and the official page, which only our own domains have."""
        marks_text = ("Experimental. " if "~" in marks else "") + ("Deprecated. " if "!" in marks else "")
        address = f"{PAGES}{self.name}/#{anchor}" if self.module.startswith("cdp_core.bindings.") else ""
        return f"{what.format(item)}. {marks_text}{address}".strip()

    # ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _maker_of_command(self, command: str) -> Callable[[str], Any]:
        def make(name: str) -> Any:
            marks, params, returns = self.table.commands[command]
            method = f"{self.name}.{command}"
            result = result_name(command)
            spec = CommandSpec(
                method,
                [FieldSpec(text, self.shape) for text in params],
                (lambda: self.get(result)) if returns else (lambda: None),
                (self.module, name),
            )
            what = f"{module_of(self.name)}.{name}()"

            def build(*positional: Any, **given: Any) -> Command[Any]:
                if positional:
                    raise TypeError(_keywords_only(what, spec))
                return Command(method, spec.accept(given, what), spec)

            build.__name__ = build.__qualname__ = name
            build.__module__ = self.module
            build.__doc__ = self._doc(method, marks, f"method-{command}")
            build.__cdp_spec__ = spec  # type: ignore[attr-defined]  # pyright: ignore[reportFunctionMemberAccess]
            build.__cdp_params__ = spec.marks  # type: ignore[attr-defined]  # pyright: ignore[reportFunctionMemberAccess]
            build.__signature__ = _signature(spec, result if returns else "None")  # type: ignore[attr-defined]  # pyright: ignore[reportFunctionMemberAccess]
            return build

        return make


def _keywords_only(what: str, spec: CommandSpec) -> str:
    """Say how to pass the params of a command, without showing those that were passed."""
    names = [f"{name}=…" for name, field in spec.params.by_name.items() if field.required] or [
        f"{name}=…" for name in spec.params.by_name
    ][:1]
    call = f"{what[:-1]}{', '.join(names)})"
    return f"{what} takes its params by name; write {call}." if names else f"{what} takes no params; write {call}."


def module_of(domain: str) -> str:
    return field_name(domain)


def _attribute(field: FieldSpec) -> Any:
    if field.required:
        return attrs.field(metadata=field.metadata)
    return attrs.field(default=None, metadata=field.metadata)


def _hint(field: FieldSpec) -> str:
    """Return an annotation as text, so that no class is made before it is resolved."""
    kind = field.type if field.type in ("str", "int", "bool") else f"DOMAIN[{field.type!r}]"
    return kind if field.required else f"{kind} | None"


def _signature(spec: CommandSpec, result: str) -> inspect.Signature:
    """Return a signature for people: its annotations are the text of the stub, so that no class is made."""
    return inspect.Signature(
        [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.required else None,
                annotation=_stub_type(field.type) + ("" if field.required else " | None"),
            )
            for field in spec.params.by_name.values()
        ],
        return_annotation=f"Command[{result}]",
    )


def _stub_type(kind: str) -> str:
    if kind.startswith("["):
        return f"Sequence[{_stub_type(kind[1:-1])}]"
    owner, _, name = kind.rpartition(".")
    return f"{module_of(owner)}.{name}" if owner else STUB_TYPES.get(kind, kind)


class _NamedAlias(GenericAlias):
    """A named array or open object of the protocol: equal to `tuple[float, ...]`, but with its own name."""

    __slots__ = ("_doc", "_name")

    def __new__(cls, alias: GenericAlias, doc: str, name: tuple[Domain, str]) -> Self:
        made = super().__new__(cls, cast("type[Any]", alias.__origin__), alias.__args__)
        object.__setattr__(made, "_doc", doc)
        object.__setattr__(made, "_name", name)
        return made

    def __getattribute__(self, name: str) -> Any:
        # GenericAlias forwards every other attribute to its origin.
        own = {"__doc__": "_doc", "__cdp_name__": "_name"}.get(name)
        return super().__getattribute__(name) if own is None else object.__getattribute__(self, own)

    def __reduce__(self) -> tuple[Any, ...]:
        return GenericAlias, (self.__origin__, self.__args__)
