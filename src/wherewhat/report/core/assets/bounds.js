// Positional against symbolic on two axes, with the corner that no head can be in.
widgets.bounds = (element) => {
  const views = element.dataset.views.split(" ");
  const names = { exclusion: "Exact", published: "Published scores" };
  const beside = [...element.parentElement.querySelectorAll("[data-view]")];
  const chart = make("div", { class: "chart", id: "bounds-chart", tabindex: "0", role: "application" });
  const note = make("p", { class: "note", hidden: true });
  const bar = make("div", { class: "controls" });
  element.append(bar, chart, note);
  const planes = { exclusion: () => exclusionPlane(chart, note), published: () => publishedPlane(chart, note, page.about.pairs[pair]) };
  let [view, pair, plane] = [views[0], 0];
  const readouts = beside.map((words) => [words.dataset.view, words.appendChild(make("p", { class: "readout" }))]);

  const pickPair = (at) => { pair = Number(at); show(); };
  const swaps = page.about.pairs.length > 1 ? choice("Temperature", page.about.pairs.map((one, at) => [String(at), one.label]), "0", pickPair) : "";
  bar.append(switchOf("Measurement", views.map((name) => [name, names[name]]), view, (name) => { view = name; show(); }), swaps);
  bar.hidden = !bar.childElementCount;

  function tell(head) {
    readouts.forEach(([name, readout]) => readout.replaceChildren(...tellHead(head, name, page.about.pairs[pair])));
  }

  function show() {
    beside.forEach((words) => { words.hidden = words.dataset.view !== view; });
    if (swaps) swaps.hidden = view !== "published";
    const line = element.parentElement.querySelector(".with-entropy");
    if (line) line.textContent = page.about.pairs.length ? withEntropy(page.about.pairs[pair]) : "";
    tell(byName.get(state.selected));
    plane = planes[view]();
    return plane.drawn;
  }

  pickHeads(chart, () => plane.placed, (head) => plane.at(head));
  whenSelected(tell);
  return show();
};

/** The selected head's numbers beside the plane. */
function tellHead(head, view, pair) {
  const { exclusion, entropy } = page.about;
  const keys = view === "exclusion" ? exclusion : [pair.y, pair.x, ...(entropy === null ? [] : [entropy])];
  return [make("b", {}, head.name), make("span", {}, ...keys.flatMap((key) => [sayScore(head, byKey.get(key)), make("br")]))];
}

/** P/Var across and S/Var up; what lies beyond the edge stands on it. */
function exclusionPlane(chart, note) {
  const { reach, exclusion } = page.about;
  const ratios = new Map(rowsOf(page.tables.exclusion).map((row) => [row.name, row]));
  const placed = heads.filter((head) => ratios.has(head.name));
  const beyond = placed.filter((head) => Math.max(ratios.get(head.name).x, ratios.get(head.name).y) > reach).length;
  const rows = headRows([], exclusion).filter((row) => ratios.has(row.name)).map((row) => ({ ...row, ...ratios.get(row.name) }));
  chart.setAttribute("aria-label", "All heads: P over Var across, S over Var up. At P = 0 a head is purely positional, at S = 0 purely symbolic; below P + S = Var no head can be. Arrow keys select the next head along an axis.");
  const left = heads.length - placed.length;
  note.textContent = [beyond ? `${beyond} of ${heads.length} heads are beyond the edge and are drawn on it.` : "", left ? `${left} have no value here.` : ""].join(" ").trim();
  note.hidden = !note.textContent;
  const drawn = draw(chart, "exclusion", { params: { reach }, tables: { heads: rows, bound: rowsOf(page.tables.bound) }, size: { height: squarish(chart) } });
  const at = (head) => [ratios.get(head.name).x, ratios.get(head.name).y];
  return { drawn, placed, at };
}

/** The published scores, coloured by entropy. */
function publishedPlane(chart, note, { x, y }) {
  const [across, up] = [byKey.get(x), byKey.get(y)];
  const keys = [x, y, ...(page.about.entropy === null ? [] : [page.about.entropy])];
  const placed = heads.filter((head) => value(head, across) !== null && value(head, up) !== null);
  chart.setAttribute("aria-label", `All heads: ${across.name} across, ${up.name} up, coloured by entropy. Arrow keys select the next head along an axis.`);
  tellMissing(note, heads.length - placed.length, "in one of the two scores");
  const words = { x, y, "x title": `${across.name} →`, "y title": `${up.name} →` };
  const drawn = draw(chart, "published", { words, tables: { heads: headRows(keys), bound: rowsOf(page.tables.bound) }, size: { height: squarish(chart) } });
  return { drawn, placed, at: (head) => [value(head, across), value(head, up)] };
}

const squarish = (chart) => Math.max(300, Math.min(470, 0.72 * chart.clientWidth));

function withEntropy({ rho: [positional, symbolic], heads: many }) {
  if (positional === null && symbolic === null) return "";
  return `Over ${many} heads of this run, Spearman’s rank correlation with entropy is ${short(positional)} for the positional and ${short(symbolic)} for the symbolic score.`;
}
