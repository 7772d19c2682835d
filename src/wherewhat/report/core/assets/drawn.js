// Charts that draw themselves; where there are several views, the reader chooses one.
widgets.drawn = (element) => {
  const { chart: name, label, height } = element.dataset;
  const views = JSON.parse(element.dataset.views);
  const chart = make("div", { class: "chart", role: "img", "aria-label": label });
  const what = label.split(". ")[0]; // the rest describes the first view in words
  const show = (view) => {
    const [title, named, words] = views[view];
    if (view > 0) chart.setAttribute("aria-label", `${what}: ${title}`);
    else chart.setAttribute("aria-label", label);
    const tables = Object.fromEntries(Object.entries(named).map(([own, table]) => [own, rowsOf(page.tables[table])]));
    return draw(chart, name, { words, tables, size: { height: Number(height) } });
  };
  if (element.dataset.follows) { // the choice is made elsewhere on the page
    const followed = JSON.parse(element.dataset.follows);
    element.append(chart);
    return follow((number) => {
      element.hidden = !followed.includes(number);
      return element.hidden ? undefined : show(followed.indexOf(number));
    });
  }
  const options = views.map(([title], view) => [String(view), title]);
  element.append(options.length > 1 ? make("div", { class: "controls" }, switchOf(what, options, "0", (view) => show(Number(view)))) : "", chart);
  return show(0);
};

// What was folded away had no width to be drawn in.
document.addEventListener("toggle", () => window.dispatchEvent(new Event("resize")), true);
