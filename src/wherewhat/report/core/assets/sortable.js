// Tables that are part of the page's text: sorted by any column, and searched where they are long.
widgets.sortable = (element) => {
  const table = element.querySelector("table");
  const body = table.tBodies[0];
  const headings = [...[...table.tHead.rows].at(-1).cells];
  const first = [...body.rows];
  const textOf = (row, at) => row.cells[at]?.textContent ?? "";
  const written = (cell) => Number.parseFloat(cell.textContent.trim().replace("−", "-").replace(/(?<=\d),(?=\d{3})/g, ""));
  const numberOf = (cell) => (cell?.dataset.exact ? Number(cell.dataset.exact.split(" ")[0]) : cell?.matches("td") ? written(cell) : NaN);

  /** First the way that suits the column, numbers from the largest, then the other way, then as it was. */
  function nextWay(at) {
    const ways = first.some((row) => !Number.isNaN(numberOf(row.cells[at]))) ? ["descending", "ascending"] : ["ascending", "descending"];
    return [...ways, "none"][(ways.indexOf(headings[at].getAttribute("aria-sort")) + 1) % 3];
  }

  function sortBy(at) {
    const way = nextWay(at);
    const down = way === "descending";
    const worth = (row) => numberOf(row.cells[at]);
    const sorted = way === "none" ? first : [...first].sort((a, b) => {
      const [one, two] = [worth(a), worth(b)];
      if (Number.isNaN(one) && Number.isNaN(two)) return (down ? -1 : 1) * textOf(a, at).localeCompare(textOf(b, at), "en", { numeric: true });
      if (Number.isNaN(one) || Number.isNaN(two)) return Number.isNaN(one) - Number.isNaN(two);
      return down ? two - one : one - two;
    });
    body.replaceChildren(...sorted);
    headings.forEach((heading, own) => heading.setAttribute("aria-sort", own === at ? way : "none"));
  }

  headings.forEach((heading, at) => {
    const words = [...heading.childNodes];
    if (!heading.textContent.trim()) return;
    if (!heading.hasAttribute("aria-sort")) heading.setAttribute("aria-sort", "none");
    heading.replaceChildren(make("button", { type: "button", onclick: () => sortBy(at) }, ...words));
  });

  const LONG = 15; // rows from which a search is offered
  if (first.length < LONG) return;
  const count = make("span", { class: "note", role: "status" });
  const search = make("input", { type: "search", placeholder: "any words …", oninput: () => find() });
  function find() {
    const plain = (text) => text.replaceAll("−", "-").toLowerCase();
    const words = plain(search.value).split(/\s+/).filter(Boolean);
    first.forEach((row) => { row.hidden = !words.every((word) => plain([...row.cells].map((cell) => cell.textContent).join(" ")).includes(word)); });
    const shown = first.filter((row) => !row.hidden).length;
    count.textContent = words.length ? `${shown} of ${first.length} rows` : "";
  }
  element.prepend(make("div", { class: "controls" }, make("label", {}, "Search", search), count));
};
