"""Names of C++ in PTX."""

from __future__ import annotations

import pytest

from warpbank.program.cuda.names import find, plain_name, source_name


@pytest.mark.parametrize(
    ("mangled", "name", "plain"),
    [
        ("saxpy", "saxpy", "saxpy"),
        ("_Z5scalePfi", "scale", "scale"),
        ("_Z5scaleIfLi4EEvPT_i", "scale<float, 4>", "scale"),
        ("_Z1kILb1ELin3EEvv", "k<true, -3>", "k"),
        ("_ZL4coef", "coef", "coef"),
        ("_ZN2ns5inner1kIiLb1EEEvPi", "ns::inner::k<int, true>", "k"),
        ("_ZN12_GLOBAL__N_14tabsE", "tabs", "tabs"),
        ("_ZN3FooILi3EE3barE", "Foo<3>::bar", "bar"),
        ("_Z3addI6float3EvT_", "add<float3>", "add"),
        ("_Z3mapIPKfZ4mainEUlfE_EvT_T0_", "map<...>", "map"),
        ("_Znonsense", "_Znonsense", "_Znonsense"),
        ("_Z9tooShort", "_Z9tooShort", "_Z9tooShort"),
    ],
)
def test_names_are_read(mangled: str, name: str, plain: str) -> None:
    assert source_name(mangled) == name
    assert plain_name(mangled) == plain


def test_a_name_is_found_in_full_without_arguments_or_by_its_last_part() -> None:
    names = ["_Z5scaleIfEvPT_", "_Z5scaleIdEvPT_", "_ZN2ns4copyEv", "copy"]
    assert find("scale<float>", names) == ["_Z5scaleIfEvPT_"]
    assert find("scale", names) == names[:2]
    assert find("ns::copy", names) == ["_ZN2ns4copyEv"]
    assert find("copy", names) == ["copy"]
    assert find("_Z5scaleIdEvPT_", names) == ["_Z5scaleIdEvPT_"]
    assert find("other", names) == []
