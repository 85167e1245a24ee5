"""The script by which tables of pages and site sort, on a table of its own."""

from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "analysis" / "sort.js"
COLUMNS = {  # head -> cells, as they are sorted up
    "bias": (
        ["0.5 ± 0.1", "-", "-2.17 ± 0.01", "no value", "1,000.0"],
        [2, 0, 4, 1, 3],
    ),
    "law": (
        ["2v2-dense", "1v1-normal", "1v1-additive", "10v10-dense", "angles"],
        [2, 1, 0, 3, 4],
    ),
    "coverage": (
        [
            "no interval",
            "100 % (29 to 100)",
            "67 % (9 to 99)",
            "0 % (0 to 71)",
            "3 of 3",
        ],
        [3, 4, 2, 1, 0],
    ),
}
WITHOUT_FIGURE = {"bias": {1, 3}, "law": set(), "coverage": {0}}


@pytest.mark.system
def test_what_has_no_figure_is_last_and_names_are_no_figures(browser, tmp_path):
    rows = "".join(
        f"<tr>{''.join(f'<td>{cells[row]}</td>' for cells, _ in COLUMNS.values())}<td>{row}</td></tr>"
        for row in range(5)
    )
    heads = "".join(f"<th>{name}</th>" for name in COLUMNS)
    script = SCRIPT.read_text(encoding="utf-8")
    page = f"<table><thead><tr>{heads}<th>row</th></tr></thead><tbody>{rows}</tbody></table><script>{script}</script>"
    (tmp_path / "page.html").write_text(
        f'<!DOCTYPE html><meta charset="utf-8">{page}', encoding="utf-8"
    )
    browser.open((tmp_path / "page.html").as_uri())
    browser.until("document.querySelectorAll('th[tabindex]').length === 4")
    order = (
        "[...document.querySelector('tbody').rows].map(row => +row.cells[3].innerText)"
    )
    for place, (name, (_, rising)) in enumerate(COLUMNS.items()):
        last = []
        for row in rising:
            if row in WITHOUT_FIGURE[name]:
                last.append(row)
        first = []
        for row in rising:
            if row not in last:
                first.append(row)
        for wanted in (first + last, first[::-1] + last[::-1]):
            browser.value(f"document.querySelectorAll('th')[{place}].click()")
            assert browser.value(order) == wanted, name
