// Every number, sorted by any column and searched by head, layer or part.
widgets.table = (element) => {
  const search = make("input", { type: "search", id: "search", placeholder: "L3, head 7, layer 3 …", oninput: () => show() });
  const count = make("span", { class: "note", role: "status" });
  const filled = page.about.kinds;
  const first = filled.length > 1 ? filled[0] : "all";
  const pick = switchOf("Columns", filled.length > 1 ? [...filled.map((kind) => [kind, kind]), ["all", "All"]] : [], first, (kind) => keepColumns(kind));
  const bar = make("div", { class: "controls" }, make("label", {}, "Search", search), pick, count);
  const body = make("tbody");
  const empty = make("p", { class: "nothing", hidden: true }, "No head matches this search.");
  const order = { column: "name", down: false };
  const columns = [
    { id: "name", label: "head", of: (head) => head.layer * 1e6 + head.head },
    ...(parts.length > 1 ? [{ id: "part", label: "part", of: (head) => parts.indexOf(head.part), word: (head) => head.part }] : []),
    ...scores.map((score) => ({ id: score.key, label: score.name, score, of: (head) => value(head, score) })),
  ];
  const headings = columns.map((column) => make("th", { scope: "col", "aria-sort": "none", "data-column": column.label },
    make("button", { type: "button", onclick: () => sortBy(column) }, column.label)));
  const lines = new Map(heads.map((head) => [head.name, line(head)]));
  const table = make("table", {}, make("caption", { class: "unseen" }, "All scores of all heads"), make("thead", {}, make("tr", {}, ...headings)), body);
  element.append(bar, make("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "All scores of all heads" }, table, empty));

  /** Only one kind of scores at a time, unless all are wanted. */
  function keepColumns(kind) {
    const gone = columns.map((column) => Boolean(column.score) && kind !== "all" && column.score.kind !== kind);
    headings.forEach((heading, at) => { heading.hidden = gone[at]; });
    lines.forEach((row) => [...row.children].forEach((cell, at) => { cell.hidden = gone[at]; }));
  }

  function line(head) {
    const button = make("button", { type: "button", onclick: () => select(head.name) }, head.name);
    const cells = columns.slice(1).map((column) => {
      if (column.word) return make("td", { class: "word" }, column.word(head));
      const title = sayScore(head, column.score);
      return make("td", { class: sideOf(head, column.score), title }, short(value(head, column.score), 3));
    });
    return make("tr", { "data-head": head.name }, make("th", { scope: "row" }, button), ...cells);
  }

  function sortBy(column) {
    order.down = order.column === column.id ? !order.down : Boolean(column.score);
    order.column = column.id;
    show();
  }

  /** Heads without a value stay at the end, whichever way the others run. */
  function compare(a, b) {
    const of = columns.find((column) => column.id === order.column).of;
    const [one, two] = [of(a), of(b)];
    if (one === null || two === null) return (one === null) - (two === null) || columns[0].of(a) - columns[0].of(b);
    return (order.down ? two - one : one - two) || columns[0].of(a) - columns[0].of(b);
  }

  function matches(head) {
    const words = `${head.name} layer ${head.layer} head ${head.head} ${head.part}`.toLowerCase();
    const asked = search.value.toLowerCase().replace(/\b(layer|head)\s+(\d+)/g, "$1_$2").split(/\s+/).filter(Boolean);
    return asked.every((word) => matchesWord(head, words, word));
  }

  function matchesWord(head, words, word) {
    const [, kind, number] = word.match(/^(layer|head)_(\d+)$/) ?? [];
    if (kind) return head[kind] === Number(number);
    const layer = word.match(/^l(\d+)$/);
    return layer ? head.layer === Number(layer[1]) : words.includes(word);
  }

  function show() {
    const found = heads.filter(matches).sort(compare);
    body.replaceChildren(...found.map((head) => lines.get(head.name)));
    headings.forEach((heading, at) => {
      const chosen = columns[at].id === order.column;
      heading.setAttribute("aria-sort", chosen ? (order.down ? "descending" : "ascending") : "none");
    });
    count.textContent = `${found.length === heads.length ? "" : `${found.length} of `}${heads.length} ${heads.length === 1 ? "head" : "heads"}`;
    empty.hidden = found.length > 0;
  }

  whenSelected((head) => lines.forEach((row, name) => row.setAttribute("aria-current", String(name === head.name))));
  keepColumns(first);
  show();
};
