"""Every sentence that infoscope can print, from its source, in one file: `python -m
tests.sentences` writes it.

A reader goes through `sentences.txt` from top to bottom; no test pins a sentence
elsewhere. An error is listed with its class, whatever else has five words or more with
a dash: notes, captions, help.
"""

import ast
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
WRITTEN = Path(__file__).with_name("sentences.txt")
FEWEST_WORDS = 5


def template(node):
    """The text of a string, or of an f-string with its expressions in braces; None of
    anything else.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (
            one.value
            if isinstance(one, ast.Constant)
            else f"{{{ast.unparse(one.value)}}}"
            for one in node.values
        )
        return "".join(parts)
    return None


def sentences(source):
    """(class or "-", sentence) of a module's source, in its order, docstrings left out."""
    tree = ast.parse(source)
    kind = {}
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            skipped.add(node.value)
        if isinstance(node, ast.JoinedStr):
            skipped.update(node.values)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            kind |= dict.fromkeys(node.exc.args, ast.unparse(node.exc.func))
    listed = [
        (node.lineno, node.col_offset, kind.get(node, "-"), " ".join(text.split()))
        for node in ast.walk(tree)
        if node not in skipped
        and (text := template(node))
        and (node in kind or len(text.split()) >= FEWEST_WORDS)
    ]
    return [(name, text) for _, _, name, text in sorted(listed)]


def listing():
    """The file: a heading for each module, a line for each sentence."""
    lines = []
    for folder in ("packages", "sweeps", "analysis", "infra"):
        for path in sorted((REPOSITORY / folder).rglob("*.py")):
            if of_module := sentences(path.read_text(encoding="utf-8")):
                lines += [
                    "",
                    str(path.relative_to(REPOSITORY)),
                    *(f"  {name:14} {text}" for name, text in of_module),
                ]
    return "\n".join(lines).lstrip() + "\n"


if __name__ == "__main__":
    WRITTEN.write_text(listing(), encoding="utf-8")
