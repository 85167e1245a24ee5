// Tables sort by a click on a head of a column, or Enter there: numbers by their first figure, all else by its text. What
// has no figure comes last, up and down.
document.addEventListener("DOMContentLoaded", () => {
  const figure = (cell) => {
    const found = cell.innerText.replace(/,/g, "").match(/^\W*?([-+]?\d+(\.\d+)?(e[-+]?\d+)?)(?!\w|-[a-z])/i);
    return found ? parseFloat(found[1]) : NaN;
  };
  const compare = (sign, a, b) => {
    const [x, y] = [figure(a), figure(b)];
    if (Number.isNaN(x) || Number.isNaN(y)) {
      const text = sign * a.innerText.localeCompare(b.innerText, "en", { numeric: true });
      return Number.isNaN(x) - Number.isNaN(y) || text;
    }
    return sign * (x - y);
  };
  for (const head of document.querySelectorAll("table:not(.highlighttable) thead th")) {
    const body = head.closest("table").tBodies[0];
    if (!body || body.rows.length < 3) continue;
    const sort = () => {
      const rising = head.getAttribute("aria-sort") !== "ascending";
      for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const place = head.cellIndex;
      body.append(...[...body.rows].sort((a, b) => compare(rising ? 1 : -1, a.cells[place], b.cells[place])));
    };
    head.tabIndex = 0;
    head.style.cursor = "pointer";
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => event.key === "Enter" && sort());
  }
});
