"""The site of docs/: it builds, no link of it is broken, it asks nothing of the
network, and a browser shows it.
"""

import html.parser
import importlib.util
import os
import subprocess
import sys
import urllib.parse
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
# seconds for what takes three minutes on two cores that do nothing else
PATIENCE = 1200.0
FRONT = (
    "index", "tutorials/trust", "tutorials/block", "concepts", "sweeps", "results/critic-capacity", "results/index",
    "reference/infoscope.estimators.knn", "project/architecture",
)  # fmt: skip
WATCH = """
window.wrong = [];
const say = console.error;
console.error = (...words) => { window.wrong.push(words.join(" ")); say(...words); };
window.addEventListener("error", (event) =>
  window.wrong.push(event.message || "not loaded: " + (event.target.src || event.target.href)), true);
window.addEventListener("unhandledrejection", (event) => window.wrong.push("" + event.reason));
"""

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(
        importlib.util.find_spec("mkdocs") is None,
        reason="what builds the site is not installed (make site)",
    ),
]


class Page(html.parser.HTMLParser):
    """What a page links to, what it loads, its anchors, and its pictures without a
    text.
    """

    def __init__(self, path):
        super().__init__()
        self.links = []
        self.loads = []
        self.anchors = set()
        self.silent = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.anchors |= {named[name] for name in ("id", "name") if named.get(name)}
        if tag == "a" and "href" in named:
            self.links.append(named["href"])
        if tag in ("img", "script", "iframe") and "src" in named:
            self.loads.append(named["src"])
        if tag == "link" and named.get("rel") in (
            "stylesheet",
            "icon",
            "preload",
            "preconnect",
        ):
            self.loads.append(named["href"])
        if tag == "img" and len(named.get("alt") or "") < 10:
            self.silent.append(named.get("src"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Built with every tutorial and every erratum run: one that fails ends it."""
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--quiet",
        "-f",
        "infra/site/mkdocs.yml",
        "-d",
        folder,
    ]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command,
        cwd=REPOSITORY,
        env=quiet,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in site.rglob("*.html")}


def test_no_link_is_broken_and_nothing_comes_from_elsewhere(site, pages):
    """Files and anchors; an absolute address may be linked to, never loaded. 404.html
    is served from anywhere.
    """
    assert len(pages) > 60
    broken = []
    for path, page in pages.items():
        for address in [*page.links, *page.loads] if path.name != "404.html" else ():
            parts = urllib.parse.urlsplit(address)
            if parts.scheme or parts.netloc:
                assert address in page.links, f"{path} loads {address}"
                continue
            target = (
                (path.parent / urllib.parse.unquote(parts.path)).resolve()
                if parts.path
                else path
            )
            target = target / "index.html" if target.is_dir() else target
            anchor = urllib.parse.unquote(parts.fragment)
            if not target.is_file() or (
                anchor and target in pages and anchor not in pages[target].anchors
            ):
                broken.append((path.relative_to(site).as_posix(), address))
    assert not broken


def test_every_picture_says_what_it_shows_and_outputs_stand_below_their_code(
    site, pages
):
    assert (
        sum(
            address.endswith(".png")
            for page in pages.values()
            for address in page.loads
        )
        >= 3
    )
    assert not {str(path): page.silent for path, page in pages.items() if page.silent}
    run = {
        path: path.read_text(encoding="utf-8").count('python exec="true"')
        for path in DOCS.rglob("*.md")
    }
    assert sum(map(bool, run.values())) >= 7
    run |= {path: 1 for path in DOCS.glob("errata/*.py")}
    for path, blocks in run.items():
        page = site / path.relative_to(DOCS).with_suffix(".html")
        assert (
            not blocks
            or page.read_text(encoding="utf-8").count('class="highlight"') >= 2 * blocks
        ), path


@pytest.fixture
def watched(browser):
    """The browser, which writes down what goes wrong on a page."""
    browser.ask("Page.enable")
    script = browser.ask("Page.addScriptToEvaluateOnNewDocument", source=WATCH)[
        "identifier"
    ]
    yield browser
    browser.ask("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
    browser.ask("Page.disable")
    browser.ask("Emulation.clearDeviceMetricsOverride")
    browser.ask("Emulation.setEmulatedMedia", features=[])


def shown(browser, site, name):
    browser.open((site / f"{name}.html").as_uri())
    browser.until("document.readyState === 'complete' && window.wrong !== undefined")
    return browser


@pytest.mark.parametrize("name", FRONT)
def test_a_page_opens_without_an_error_and_fits_a_phone(watched, site, name):
    """From the file, without a server; pictures are decoded, and all that is loaded is
    beside it.
    """
    page = shown(watched, site, name)
    page.value("Promise.all([...document.images].map(image => image.decode()))")
    loaded = page.value("performance.getEntriesByType('resource').map(one => one.name)")
    assert not [
        name for name in loaded if not name.startswith(("file:", "data:", "blob:"))
    ]
    assert page.value("window.wrong") == []
    page.ask(
        "Emulation.setDeviceMetricsOverride",
        width=390,
        height=800,
        deviceScaleFactor=2,
        mobile=True,
    )
    page.until("document.documentElement.scrollWidth <= 391")


def test_search_finds_a_page_without_a_server(watched, site):
    page = shown(watched, site, "index")
    query = "document.querySelector('[data-md-component=search-query]')"
    page.value(
        f"{query}.focus(), {query}.value = 'synergistic', {query}.dispatchEvent(new "
        "Event('keyup'))"
    )
    page.until(
        "[...document.querySelectorAll('.md-search-result__link')].some(a => "
        "a.href.includes('concepts'))"
    )
    assert page.value("window.wrong") == []
