"""Host functions of a source: found, and left out where the compiler cannot read them."""

from __future__ import annotations

from pathlib import Path

from warpbank.program.cuda.hostcode import emptied, failures, host_functions

SOURCE = """#include <stdio.h>
// int commented(int) { }
namespace tools {
struct Timer { double t; void start() { t = now(); } __device__ int tick() { return 1; } };
}
template <typename T>
__global__ void kernel(T *p) { if (p) { *p = T{1}; } }
static const char *text = "int no() { }";
extern "C" {
int first(int a)
{
    if (a) { return 1; }
    return '}';
}
}
int table[] = {1, 2, 3};
#define BODY { }
int main() { return first(0); }
"""


def test_functions_without_a_device_attribute_are_found() -> None:
    found = {f.name: (f.first, f.last) for f in host_functions(SOURCE)}
    assert found == {"start": (4, 4), "first": (10, 14), "main": (18, 18)}


def test_a_function_is_emptied_line_by_line() -> None:
    text, left_out = emptied(SOURCE, [12])
    assert text is not None
    assert [f.name for f in left_out] == ["first"]
    assert text.count("\n") == SOURCE.count("\n")
    assert "return 1; }\n}" not in text
    assert "if (a)" not in text
    assert "int first(int a)" in text
    assert "return first(0)" in text


def test_a_function_with_a_wrong_signature_goes_as_a_whole() -> None:
    text, _ = emptied(SOURCE, [10])
    assert text is not None
    assert "int first" not in text


def test_device_code_is_never_left_out() -> None:
    assert emptied(SOURCE, [7]) == (None, [])
    assert emptied(SOURCE, [12, 1]) == (None, [])


def test_errors_are_read_from_what_the_compiler_says() -> None:
    said = "a.cu:3:7: error: no\nb.h:1:1: fatal error: 'x.h' file not found\na.cu:4:1: warning: odd\n"
    first, second = failures(said, Path("./a.cu"))
    assert (first.line, first.message, first.mine) == (3, "no", True)
    assert (second.path, second.message, second.mine) == ("b.h", "'x.h' file not found", False)
