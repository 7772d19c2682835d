// Tables that are part of the page's text, sorted by any column.
widgets.sortable = (element) => {
  const table = element.querySelector("table");
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[0].cells];
  const first = [...body.rows];
  const numberOf = (cell) => (cell.dataset.exact ? Number(cell.dataset.exact.split(" ")[0]) : NaN);

  function sortBy(at) {
    const down = headings[at].getAttribute("aria-sort") === "descending" ? false : headings[at].getAttribute("aria-sort") === "ascending" ? true : first.some((row) => !Number.isNaN(numberOf(row.cells[at])));
    const worth = (row) => numberOf(row.cells[at]);
    const sorted = [...first].sort((a, b) => {
      const [one, two] = [worth(a), worth(b)];
      if (Number.isNaN(one) && Number.isNaN(two)) {
        const [left, right] = [a.cells[at].textContent, b.cells[at].textContent];
        return (down ? -1 : 1) * left.localeCompare(right, "en", { numeric: true });
      }
      if (Number.isNaN(one) || Number.isNaN(two)) return Number.isNaN(one) - Number.isNaN(two);
      return down ? two - one : one - two;
    });
    body.replaceChildren(...sorted);
    headings.forEach((heading, own) => heading.setAttribute("aria-sort", own === at ? (down ? "descending" : "ascending") : "none"));
  }

  headings.forEach((heading, at) => {
    const words = heading.textContent;
    if (!heading.hasAttribute("aria-sort")) heading.setAttribute("aria-sort", "none");
    heading.replaceChildren(make("button", { type: "button", onclick: () => sortBy(at) }, words));
  });
};
