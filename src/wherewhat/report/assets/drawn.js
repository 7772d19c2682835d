// Charts that draw themselves from the tables they name; where there are views, the reader chooses one.
function namesIn(spec, found = new Set()) {
  if (Array.isArray(spec)) spec.forEach((item) => namesIn(item, found));
  else if (spec && typeof spec === "object") {
    if (spec.data?.name) found.add(spec.data.name);
    Object.values(spec).forEach((item) => namesIn(item, found));
  }
  return found;
}

widgets.drawn = (element) => {
  const { chart: name, label, height } = element.dataset;
  const views = JSON.parse(element.dataset.views);
  const words = JSON.parse(element.dataset.words);
  const chart = make("div", { class: "chart", role: "img", "aria-label": label });
  const named = [...namesIn(page.charts[name])].filter((table) => page.tables[table]);
  const tables = Object.fromEntries(named.map((table) => [table, rowsOf(page.tables[table])]));
  const show = (view) => draw(chart, name, { words: { ...words, ...(views[view]?.[1] ?? {}) }, tables, size: { height: Number(height) } });
  const options = views.map(([title], view) => [String(view), title]);
  element.append(options.length > 1 ? make("div", { class: "controls" }, switchOf(label, options, "0", (view) => show(Number(view)))) : "", chart);
  return show(0);
};

// What was folded away had no width to be drawn in.
document.addEventListener("toggle", () => window.dispatchEvent(new Event("resize")), true);
