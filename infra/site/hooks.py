"""What the site adds to the pages of docs/: files that pages link to, programs of the
errata, and the reference.

A link out of docs/ works for readers of the repository; on the site its file is a page
or a text of its own.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.utils import get_relative_url

from infra.site import api

REPOSITORY = Path(__file__).parents[2]
# pages from the root
PROJECT = (
    "ARCHITECTURE",
    "CONTRIBUTING",
    "AGENTS",
    "CHANGELOG",
    "CODE_OF_CONDUCT",
    "SECURITY",
)
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)(?=[)#])")
PACKAGES = ("data", "estimators", "models", "metrics", "tracking")
# the only thing that the theme would ask of the network
FETCHED = re.compile(r"https://[^\"]+/iframe-worker/shim")
REFERENCE = """# Reference

From the docstrings: shapes, units, errors raised, and the paper and equation of what is estimated.
"""


def on_files(files: Files, config: Any) -> Files:
    """Adds the project's own pages, the reference, and whatever of the repository a
    page links to.
    """
    texts = {}
    index = ["# The project\n"]
    for name in PROJECT:
        page = f"{name.lower()}.md"
        texts[f"project/{page}"] = (REPOSITORY / f"{name}.md").read_text()
        title = name.replace("_", " ").capitalize()
        index.append(f"- [{title}]({page})")
    index.append("- [Licence](../../LICENSE)\n")
    texts["project/index.md"] = "\n".join(index)
    texts.update(reference())
    texts.update(programs())
    texts["api.md"] = api.page()
    for page in files.documentation_pages():
        texts.setdefault(page.src_uri, page.content_string)
    for uri, text in list(texts.items()):
        for link in LINK.findall(text):
            path = _path(uri, link)
            if (
                path in _HOMES
                or path.startswith("docs/")
                or not (REPOSITORY / path).is_file()
            ):
                continue
            texts[_home(path)] = (REPOSITORY / path).read_text()
    for uri, text in texts.items():
        if files.get_file_from_path(uri) is None:
            files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links of a page as they are on the site."""
    uri = page.file.src_uri
    folder = posixpath.dirname(uri) or "."

    def on_site(link: re.Match) -> str:
        home = _home(_path(uri, link[1]))
        return posixpath.relpath(home, folder)

    return LINK.sub(on_site, markdown)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Our own stand-in for workers, which needs no network."""
    return FETCHED.sub(get_relative_url("assets/worker.js", page.url), output)


def on_post_template(output_content: str, template_name: str, **_: Any) -> str:
    return FETCHED.sub("assets/worker.js", output_content)


def on_post_build(config: Any) -> None:
    """llms.txt with its links as they are on the site."""
    page = Path(config.site_dir) / "llms.txt"

    def on_site(link: re.Match) -> str:
        home = _home(_path(page.name, link[1]))
        return home.removesuffix(".md") + ".html"

    text = LINK.sub(on_site, page.read_text())
    page.write_text(text, encoding="utf-8")


def reference() -> Iterator[tuple[str, str]]:
    """A page for every module and folder of a package, and a list of them."""
    listed = [REFERENCE]
    for package in PACKAGES:
        root = REPOSITORY / "packages" / package / "src" / "infoscope" / package
        listed.append(f"## infoscope.{package}\n")
        for path in sorted(root.iterdir()):
            source = path if path.is_file() else path / "__init__.py"
            if (
                path.name.startswith("_")
                or source.suffix != ".py"
                or not source.exists()
            ):
                continue
            name = f"infoscope.{package}.{path.stem}"
            first = re.match(r'"""(.+?)(?:\n\n|""")', source.read_text(), re.DOTALL)
            sentence = " ".join(first[1].split()) if first else ""
            listed.append(f"- [{name}]({name}.md): {sentence}")
            yield (
                f"reference/{name}.md",
                f"# {name}\n\n::: {name}\n    options:\n      show_root_heading: "
                "false\n",
            )
        listed.append("")
    yield "reference/index.md", "\n".join(listed)


def programs() -> Iterator[tuple[str, str]]:
    """A page for every program of the errata: its docstring, its source and what it
    prints.
    """
    for path in sorted((REPOSITORY / "docs" / "errata").glob("*.py")):
        _, words, code = path.read_text().split('"""', 2)
        title, _, text = words.removesuffix(".").partition(".\n")
        shown = (
            f'```python exec="true" source="above" result="text"\n{code.strip()}\n```'
        )
        yield (
            f"errata/{path.stem}.md",
            f"# {title}\n\n{text.strip()}\n\n{shown}\n\n[All errata](../errata.md)\n",
        )


_HOMES = {f"{name}.md": f"project/{name.lower()}.md" for name in PROJECT} | {
    "README.md": "index.md"
}
_ORIGINS = {home: path for path, home in _HOMES.items() if path != "README.md"}


def _path(uri: str, link: str) -> str:
    """The path in the repository of the file to which a page of the site links."""
    origin = _ORIGINS.get(uri, f"docs/{uri}")
    folder = posixpath.dirname(origin)
    return posixpath.normpath(posixpath.join(folder, link))


def _home(path: str) -> str:
    """The place on the site of a file of the repository."""
    if path.startswith("docs/errata/"):
        return path.removeprefix("docs/").replace(".py", ".md")
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return _HOMES.get(path, f"source/{path}.txt")
