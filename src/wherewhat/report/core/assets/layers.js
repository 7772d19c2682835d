// One score from the first layer to the last, heads as faint dots and means as a line.
const hues = ["var(--where)", "var(--what)", "var(--both)"];

function stripOf(element, { key, hue, title, id, span = [0, 1] }) {
  const chart = make("div", { class: "chart", id, tabindex: "0", role: "application", "aria-label": `${title} by layer. Arrow keys select the next head.` });
  element.append(make("div", {}, make("h3", {}, make("i", { class: "swatch", "data-hue": hue }), title), chart));
  const placed = () => heads.filter((head) => head[`value_${key}`] !== null);
  pickHeads(chart, placed, (head) => [head.layer, head[`value_${key}`]]);
  return () => draw(chart, "layers", { words: { score: key }, params: { hue: hues[hue], y_span: span }, tables: { heads: headRows([key]) }, size: { height: 230 } });
}

widgets.layers = (element) => {
  const { keys, corners } = page.about.triples[0];
  const lowest = Math.min(0, ...keys.map((key) => byKey.get(key).span[0]));
  const strips = keys.map((key, hue) => stripOf(element, { key, hue, title: corners[hue][0], id: `layers-${hue}`, span: [lowest, 1] }));
  return Promise.all(strips.map((show) => show()));
};
