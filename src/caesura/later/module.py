"""Modules: immutable dataclasses that JAX takes for trees of arrays, as those of Equinox are.

Equinox would import JAX. Its functions, such as `equinox.tree_at`, work with these modules.
"""

import dataclasses
from abc import ABCMeta
from typing import Any, dataclass_transform

from caesura.later.imports import after_import, jax


def field(*, static: bool = False, **more: Any) -> Any:
    """Return a field of a module; a `static` one is no part of the tree, but of its structure."""
    return dataclasses.field(metadata={"static": static}, **more)


class _Maker(ABCMeta):
    """Makes modules: they can be changed until `__init__` and `__check_init__` are done."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        for base in cls.__mro__:
            if check := vars(base).get("__check_init__"):
                check(made)
        vars(made)["_made"] = True
        return made


@dataclass_transform(field_specifiers=(dataclasses.field, field))
class Module(metaclass=_Maker):
    """The base class: every subclass is a dataclass, and a tree of its fields for JAX.

    A class that has an `__init__` of its own, or inherits one, keeps it.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        written = cls.__init__ is not object.__init__ and not hasattr(cls.__init__, "_of_fields")
        dataclasses.dataclass(init=not written, unsafe_hash=True)(cls)
        if not written:
            cls.__init__._of_fields = True  # type: ignore[attr-defined]
        after_import(lambda: _register(cls))

    def __setattr__(self, name: str, value: Any) -> None:
        if "_made" in vars(self):
            raise dataclasses.FrozenInstanceError(f"cannot assign to field '{name}'")
        super().__setattr__(name, value)


def tree_fields(cls: type[Module]) -> tuple[list[str], list[str]]:
    """Return the names of the fields in the tree, and of the static ones."""
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    static = [one.name for one in fields if one.metadata.get("static", False)]
    return [one.name for one in fields if one.name not in static], static


def rebuilt(cls: type[Module], fields: dict[str, Any]) -> Any:
    """Return a module with these fields, which are not checked: they may be anything."""
    made = object.__new__(cls)
    vars(made).update(fields, _made=True)
    return made


def _register(cls: type[Module]) -> None:
    """Tell JAX of a class."""
    inner, static = tree_fields(cls)
    keys = [jax.tree_util.GetAttrKey(name) for name in inner]

    def flatten(module: Any) -> tuple[list[Any], tuple[Any, ...]]:
        of = vars(module)
        return [of[name] for name in inner], tuple(of[name] for name in static)

    def flatten_with_keys(module: Any) -> Any:
        children, rest = flatten(module)
        return list(zip(keys, children, strict=True)), rest

    def unflatten(rest: tuple[Any, ...], children: Any) -> Any:
        return rebuilt(cls, dict(zip([*inner, *static], [*children, *rest], strict=True)))

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
