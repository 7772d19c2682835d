// What each rotary frequency carries: the norms of query and key, its part of the three variances, its own scores.
const measureNames = {
  query_norm: "norm of query", key_norm: "norm of keys", logit: "mean size of its logit", peak: "mean largest logit",
  position_part: "variance by position", symbol_part: "variance by content", interaction_part: "variance by both", positional: "positional", symbolic: "symbolic",
};
const partOrder = ["position_part", "symbol_part", "interaction_part"];
const spectra = new Map(); // head -> measure -> one number per frequency
rowsOf(page.tables.spectra ?? { name: [] }).forEach(({ name, measure, step, steps }) => {
  if (!spectra.has(name)) spectra.set(name, new Map());
  spectra.get(name).set(measure, steps.map((count) => (count === null ? null : count * step)));
});
const thetas = new Map(rowsOf(page.tables.thetas ?? { layer: [] }).map(({ layer, theta }) => [layer, theta]));

function wavelength(theta) {
  if (!(theta > 0)) return "∞";
  const tokens = (2 * Math.PI) / theta;
  return `${tokens >= 1e6 ? tokens.toExponential(1) : short(tokens, tokens >= 100 ? 0 : 1)} tokens`;
}

/** A place for the three charts of one spectrum, and a function that draws a head's. */
function spectrumOf(element, id) {
  const blocks = [
    ["norms", "Norms of query and key", [["query", "query"], ["keys", "keys"]], ["query_norm", "key_norm"]],
    ["shares", "Share of the logits' variance", [["where", "by position"], ["what", "by content"], ["both", "both together"]], partOrder],
    ["scores", "Published scores of each plane on its own", [["where", "positional"], ["what", "symbolic"]], ["positional", "symbolic"]],
  ];
  const places = blocks.map(([name, title, key, measures]) => {
    const chart = make("div", { class: "chart", id: `${id}-${name}`, role: "img" });
    const block = make("div", {}, make("h4", {}, title, keyOf(key)), chart);
    element.append(block);
    return { name, title, chart, block, measures };
  });

  return (name, layer, words) => {
    const theta = thetas.get(layer);
    const measures = spectra.get(name);
    const rows = theta.flatMap((speed, at) => {
      const told = Object.keys(measureNames).map((measure) => [measure, measures.get(measure)?.[at] ?? null]).filter(([, number]) => number !== null);
      return told.map(([measure, number]) => ({ at, theta: speed, measure, value: number, order: partOrder.indexOf(measure), measures: told }));
    });
    const every = Math.max(1, Math.ceil(theta.length / (element.clientWidth < 500 ? 5 : 9)));
    const ticks = theta.map((_, at) => at).filter((at) => at % every === 0);
    const labels = theta.map((speed) => wavelength(speed).replace(" tokens", ""));
    const last = places.filter((place) => place.measures.some((measure) => measures.has(measure))).at(-1);
    return Promise.all(places.map(({ name: chartName, title, chart, block, measures: wanted }) => {
      const there = rows.filter((row) => wanted.includes(row.measure));
      block.hidden = there.length === 0;
      if (block.hidden) return undefined;
      chart.setAttribute("aria-label", `${title} of ${words} by rotary frequency, fastest first.`);
      const height = (chartName === "shares" ? 130 : 84);
      return draw(chart, chartName, { params: { bins: theta.length, ticks, labels }, tables: { spectrum: there }, size: { height } });
    }));
  };
}

function keyOf(entries) {
  return make("span", { class: "key", "aria-hidden": "true" }, ...entries.map(([sign, said]) => make("span", {}, make("i", { class: sign }), said)));
}
