// For models with position in the hidden state: other measurements, each named for what it is.
widgets.hidden = (element) => {
  const { moved, position } = page.about;
  const drawings = [];
  const column = make("div", { class: "column" });
  if (moved.length) {
    const chart = make("div", { class: "chart", id: "moved-chart", tabindex: "0", role: "application" });
    const note = make("p", { class: "note", hidden: true });
    element.append(make("div", { class: "panel" }, make("h3", {}, "Published scores, tokens swapped at the input"), chart, note, make("p", { class: "note" }, withEntropy(moved[0]))));
    const plane = publishedPlane(chart, note, moved[0]);
    pickHeads(chart, () => plane.placed, plane.at);
    drawings.push(plane.drawn);
  }
  element.append(column);
  const parts = rowsOf(page.tables.means);
  if (parts.length) {
    const chart = make("div", { class: "chart", id: "means-chart", role: "img", "aria-label": "What the logits of each layer are made of, mean over its heads" });
    const signs = [["where", "key's position"], ["what", "key's content"]];
    const depths = make("p", { class: "note" }, "Full colour: with the query's position; paler: with its content; palest: with its constant part. Parts may be negative; all six sum to 1.");
    column.append(make("div", { class: "panel" }, make("h3", {}, "What the logits are made of, by layer", keyOf(signs)), chart, depths));
    drawings.push(draw(chart, "means", { tables: { parts }, size: { height: 280 } }));
  }
  if (position !== null) {
    const held = make("div", { class: "panel" });
    column.append(held);
    drawings.push(stripOf(held, { key: position, hue: 0, title: "mean.position: everything that the key's position adds", id: "position-chart", span: byKey.get(position).span })());
  }
  if (!drawings.length) column.append(make("p", { class: "note" }, "The triangle at the top of the page shows what was measured this way."));
  return Promise.all(drawings);
};
