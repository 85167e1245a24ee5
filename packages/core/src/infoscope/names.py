"""Names of columns, and other texts of users, made safe for each place that shows them.

printable  a terminal: no control characters, which could steer it
in_csv     a spreadsheet: no formulas
in_latex   LaTeX: no commands
in_figure  matplotlib: one short line; `as_written` keeps it from reading dollar signs as mathematics
"""

from __future__ import annotations

import re
from typing import Any

MAX_LABEL = 40  # characters of a label in a figure
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_LATEX = {sign: f"\\{sign}" for sign in "%&#_${}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "²": r"$^2$",
}
# how a spreadsheet's formula begins
_FORMULA = re.compile(r"\s*[=+\-@].|[\t\r\n]", re.DOTALL)
_FORMULA_AFTER_SEPARATOR = re.compile(r"([,;\t]\s*)(?=[=+\-@])")


def printable(value: object) -> str:
    """The value as text, its control characters but line ends replaced.

    >>> printable("dose" + chr(27) + "[2J")
    'dose�[2J'
    """
    return "".join(
        sign if sign.isprintable() or sign == "\n" else REPLACEMENT
        for sign in str(value)
    )


def in_csv(value: Any) -> Any:
    """The value for a cell of a CSV file; a text that would be a formula gets an
    apostrophe before it.

    >>> in_csv("=2+3"), in_csv("-0.5"), in_csv(-0.5)
    ("'=2+3", "'-0.5", -0.5)
    """
    if isinstance(value, str) and _FORMULA.match(value):
        return f"'{value}"
    return value


def in_csv_comment(line: str) -> str:
    """The line for a comment in a CSV file: a spreadsheet that splits it at separators
    finds no formula.

    >>> in_csv_comment('what "x",=1+1 shares')
    "what 'x','=1+1 shares"
    """
    return _FORMULA_AFTER_SEPARATOR.sub(r"\1'", line.replace('"', "'"))


def in_latex(text: object) -> str:
    r"""The text for LaTeX, every sign as it is written.

    >>> print(in_latex("n_1 & $2"))
    n\_1 \& \$2
    """
    return "".join(_LATEX.get(sign, sign) for sign in printable(text))


def in_figure(name: object) -> str:
    """The name as a label: one line of at most 40 characters, its middle left out where
    it is longer.
    """
    line = printable(" ".join(str(name).split()))
    if len(line) <= MAX_LABEL:
        return line
    half = (MAX_LABEL - 1) // 2
    return f"{line[:half]}…{line[-half:]}"


def as_written(figure: Any) -> None:
    """Draws every text of a matplotlib figure, or of axes, as it is written: a dollar
    sign is a dollar sign.
    """
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_parse_math(False)
