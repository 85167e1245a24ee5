"""Notes: sentences about an answer, with a code for programs."""

from __future__ import annotations


class Note(str):
    """A sentence about an answer, for people; programs read its code, so that it can be
    reworded.

    code      its kind, in a word or two that never change: "series", "constant column"
    argument  its argument, column or method; "" for the answer as a whole

    >>> note = Note("x: column 2 is constant and left out.", "constant column", "x")
    >>> note.code, note.argument
    ('constant column', 'x')
    """

    code: str
    argument: str

    def __new__(cls, sentence: str, code: str, argument: str = "") -> Note:
        note = super().__new__(cls, sentence)
        note.code = code
        note.argument = argument
        return note

    def __getnewargs__(self) -> tuple[str, str, str]:
        return str(self), self.code, self.argument
