// Tables sort by a click on a head of a column, or Enter there: numbers by their first figure, all else by its text.
document.addEventListener("DOMContentLoaded", () => {
  const figure = (cell) => {
    const found = cell.innerText.replace(/,/g, "").match(/^\W*?([-+]?\d+(\.\d+)?(e[-+]?\d+)?)/i);
    return found ? parseFloat(found[1]) : NaN;
  };
  const compare = (a, b) => {
    const [x, y] = [figure(a), figure(b)];
    if (Number.isNaN(x) && Number.isNaN(y)) return a.innerText.localeCompare(b.innerText);
    return Number.isNaN(x) ? 1 : Number.isNaN(y) ? -1 : x - y;
  };
  for (const head of document.querySelectorAll("table:not(.highlighttable) thead th")) {
    const body = head.closest("table").tBodies[0];
    if (!body || body.rows.length < 3) continue;
    const sort = () => {
      const rising = head.getAttribute("aria-sort") !== "ascending";
      for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const rows = [...body.rows].sort((a, b) => compare(a.cells[head.cellIndex], b.cells[head.cellIndex]));
      body.append(...(rising ? rows : rows.reverse()));
    };
    head.tabIndex = 0;
    head.style.cursor = "pointer";
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => event.key === "Enter" && sort());
  }
});
