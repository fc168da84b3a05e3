"""Names that C++ gives to kernels and variables in PTX, and the names that a source has for them.

A compiler mangles a name by the rules of the Itanium C++ ABI: `_Z5scaleIfLi4EEvPT_i` is `scale<float, 4>`.
What is read here is the name with its namespaces and its template's arguments as far as they are types
of the language or numbers; the types of parameters are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_TYPES: Mapping[str, str] = {
    "v": "void", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long",
    "x": "long long", "y": "unsigned long long", "f": "float", "d": "double", "Dh": "half",
}  # fmt: skip


def source_name(mangled: str) -> str:
    """The name in the source, or the mangled one if it is none or cannot be read.

    Parameters
    ----------
    mangled : a name of the PTX, such as "_Z5scaleIfLi4EEvPT_i".
    """
    if not mangled.startswith("_Z"):
        return mangled
    reader = _Reader(mangled[2:])
    try:
        return reader.name()
    except (ValueError, IndexError):  # of a template, the name at least
        return f"{reader.template}<...>" if reader.template else mangled


def plain_name(mangled: str) -> str:
    """The last part of the name in the source, without the arguments of its template."""
    return _bare(source_name(mangled)).rpartition("::")[2]


def find(wanted: str, names: Iterable[str]) -> list[str]:
    """The names of the PTX that a name in a launch description may mean.

    A name of the PTX itself is the only answer; otherwise all whose source has it so: whole
    (`space::scale<float, 4>`), without its arguments, or its last part alone.

    Parameters
    ----------
    wanted : the name in the launch description.
    names : those of the PTX.
    """
    known = list(names)
    if wanted in known:
        return [wanted]
    asked = wanted.replace(" ", "")
    found = [name for name in known if source_name(name).replace(" ", "") == asked]
    if not found:
        found = [name for name in known if _bare(source_name(name)) == asked]
    return found or [name for name in known if plain_name(name) == asked]


def _bare(name: str) -> str:
    """A name without the arguments of its templates."""
    depth, kept = 0, ""
    for letter in name:
        depth += letter == "<"
        kept += letter if not depth else ""
        depth -= letter == ">"
    return kept


class _Reader:
    """Reader of a mangled name, left to right.

    Parameters
    ----------
    text : what follows `_Z`.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.template = ""  # the name before the first argument

    def name(self) -> str:
        """One name with its template's arguments."""
        if not self._skip("N"):
            self._skip("L")  # internal linkage
            part = self._part()
            return part + self._arguments(part)
        parts: list[str] = []
        while self.text[self.at] in "rVK":
            self.at += 1
        while not self._skip("E"):
            if self.text[self.at] == "I":
                parts[-1] += self._arguments("::".join(part for part in parts if part))
            else:
                self._skip("L")
                parts.append(self._part())
        return "::".join(part for part in parts if part)

    def _part(self) -> str:
        """A name of one word; that of an anonymous namespace is none."""
        start = self.at
        while self.text[self.at].isdigit():
            self.at += 1
        length = int(self.text[start : self.at])
        word = self.text[self.at : self.at + length]
        if len(word) != length:
            raise ValueError(self.text)
        self.at += length
        return "" if word.startswith("_GLOBAL__N") else word

    def _arguments(self, name: str) -> str:
        if self.at >= len(self.text) or not self._skip("I"):
            return ""
        self.template = self.template or name
        found = []
        while not self._skip("E"):
            found.append(self._argument())
        return f"<{', '.join(found)}>"

    def _argument(self) -> str:
        """A type, or a number."""
        if not self._skip("L"):
            return self._type()
        kind = self._type()
        end = self.text.index("E", self.at)
        digits = self.text[self.at : end]
        self.at = end + 1
        number = str(-int(digits[1:]) if digits.startswith("n") else int(digits))
        return ("false", "true")[int(number)] if kind == "bool" else number

    def _type(self) -> str:
        if self._skip("P"):
            return f"{self._type()}*"
        if self._skip("K"):
            return f"const {self._type()}"
        for code in (self.text[self.at : self.at + 2], self.text[self.at]):
            if code in _TYPES:
                self.at += len(code)
                return _TYPES[code]
        if self.text[self.at].isdigit():
            part = self._part()
            return part + self._arguments(part)
        if self.text[self.at] == "N":
            return self.name()
        raise ValueError(self.text)

    def _skip(self, letter: str) -> bool:
        if self.text[self.at] != letter:
            return False
        self.at += 1
        return True
