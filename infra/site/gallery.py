"""The pictures of docs/gallery.md, each drawn by the code above it: `python -m
infra.site.gallery`, in a minute.
"""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt
from PIL import Image

from analysis.common.marks import save
from infra.site.documents import run_code

PAGE = Path(__file__).parents[2] / "docs" / "gallery.md"
EXAMPLE = re.compile(
    r"```python\n((?:(?!```).)*)```\n\n!\[[^\]]*\]\(gallery/([\w-]+\.png)\)", re.DOTALL
)


def examples() -> dict[str, str]:
    """The code of each picture by its file name; each begins with the first block of
    the page, the imports.
    """
    text = PAGE.read_text(encoding="utf-8")
    imports = text.split("```python\n")[1].split("```")[0]
    return {name: imports + code for code, name in EXAMPLE.findall(text)}


def draw(code: str, path: Path) -> None:
    """Runs an example and saves the figure that it has drawn, in 256 colours."""
    plt.close("all")
    with plt.rc_context(
        {"figure.figsize": (6, 3.5), "figure.constrained_layout.use": True}
    ):
        run_code(code, path.name)
        save(plt.gcf(), [path], 110)
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(256).save(path, optimize=True)


if __name__ == "__main__":
    for name, code in examples().items():
        draw(code, PAGE.parent / "gallery" / name)
