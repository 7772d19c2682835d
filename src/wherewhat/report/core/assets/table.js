// Every number, sorted by any column and searched by head, layer, part or score.
widgets.table = (element) => {
  const search = make("input", { type: "search", id: "search", placeholder: "L3H7, induction > .3 …", "aria-describedby": "search-said", oninput: () => show() });
  const count = make("span", { class: "note", id: "search-said", role: "status" });
  let found = [...heads];
  let named = new Set(); // scores that the search names: their columns are shown, whatever their kind
  const filled = page.about.kinds;
  const first = filled.length > 1 ? filled[0] : "all";
  const pick = switchOf("Columns", filled.length > 1 ? [...filled.map((kind) => [kind, kind]), ["all", "All"]] : [], first, (kind) => keepColumns(kind));
  const bar = make("div", { class: "controls" }, make("label", {}, "Search", search), pick, csvButton(() => "every number", asCsv), count);
  let shownKind = first;
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
  const counts = ["texts", "windows", "rows"].map((kind) => countsOf(kind)).filter((row) => row !== null);
  const table = make("table", { "data-csv": "own" }, make("caption", { class: "unseen" }, "All scores of all heads"), make("thead", {}, make("tr", {}, ...headings)), body, counts.length ? make("tfoot", {}, ...counts) : "");
  element.append(bar, make("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "All scores of all heads" }, table, empty));

  /** Only one kind of scores at a time, unless all are wanted. */
  function keepColumns(kind) {
    shownKind = kind;
    const gone = columns.map(({ score }) => Boolean(score) && !isShown(score));
    headings.forEach((heading, at) => { heading.hidden = gone[at]; });
    [...lines.values(), ...counts].forEach((row) => [...row.children].forEach((cell, at) => { cell.hidden = gone[at]; }));
  }

  /** How many texts, windows or rows each score rests on: one number, or the span over its heads. */
  function countsOf(kind) {
    const known = columns.map(({ score }) => (score?.rests ?? []).map((one) => one[kind]).filter((many) => many !== null && many !== undefined));
    if (!known.some((many) => many.length)) return null;
    const span = (many) => [...new Set([Math.min(...many), Math.max(...many)])].map((one) => one.toLocaleString("en")).join("–");
    const few = (score) => score?.rests?.some((one) => one.few && one[kind] !== null);
    return make("tr", {}, make("th", { scope: "row" }, kind), ...columns.slice(1).map(({ score }, at) => make("td", { class: few(score) ? "count few" : "count" }, known[at + 1].length ? span(known[at + 1]) : "")));
  }

  const isShown = (score) => shownKind === "all" || score.kind === shownKind || named.has(score);

  /** The heads and scores that are shown, in this order, with everything the page knows of each number. */
  function asCsv() {
    const its = columns.filter(({ score }) => score && isShown(score)).map(({ score }) => score);
    const names = ["name", "layer", "head", "part", ...its.flatMap((score) => [score.name, ...columnNames.slice(1).map((name) => `${score.name} ${name}`)])];
    return csvOf([names, ...found.map((head) => [head.name, head.layer, head.head, head.part, ...its.flatMap((score) => columnNames.map((name) => head[`${name}_${score.key}`]))])]);
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

  function show() {
    const asked = readSearch(search.value);
    search.setAttribute("aria-invalid", String(Boolean(asked.problem)));
    count.classList.toggle("wrong", Boolean(asked.problem));
    if (!asked.problem) found = heads.filter((head) => asked.tests.every((test) => test(head)));
    found.sort(compare);
    named = asked.named;
    keepColumns(shownKind);
    body.replaceChildren(...found.map((head) => lines.get(head.name)));
    headings.forEach((heading, at) => {
      const chosen = columns[at].id === order.column;
      heading.setAttribute("aria-sort", chosen ? (order.down ? "descending" : "ascending") : "none");
    });
    count.textContent = asked.problem || `${found.length === heads.length ? "" : `${found.length} of `}${heads.length} ${heads.length === 1 ? "head" : "heads"}`;
    empty.hidden = found.length > 0;
  }

  whenSelected((head) => lines.forEach((row, name) => row.setAttribute("aria-current", String(name === head.name))));
  show();
};
