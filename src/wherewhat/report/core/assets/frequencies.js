// The mean over heads by frequency, and the correlation of behaviour with speed in every layer.
widgets.frequencies = (element) => {
  const drawings = [];
  if (spectra.has("all heads")) {
    const held = make("div", { class: "spectrum" });
    element.append(make("h3", {}, "Mean over all heads, by frequency"), held);
    drawings.push(spectrumOf(held, "all")("all heads", [...thetas.keys()][0], "all heads"));
  } else if (spectra.size) {
    element.append(make("p", { class: "note" }, "The layers have different frequencies, so there is no common mean; choose a head below to see its own."));
  }
  const titles = { theta: "What correlates with the speed of a plane?", mean_speed: "What correlates with the speed of a head's mean frequency?" };
  [...new Set(page.about.correspondence.map((row) => row.x))].forEach((x) => {
    const rows = page.about.correspondence.filter((row) => row.x === x).map((row) => ({ ...row, side: rhoSide(row), tip: sayRho(row) }));
    const held = make("div", { class: "with-speed", "data-with": x });
    element.append(make("h3", {}, titles[x] ?? `What correlates with ${x}?`), make("p", { class: "note" }, verdict(rows, x)), held);
    drawings.push(...withSpeed(held, rows));
  });
  return Promise.all(drawings);
};

/** All layers together, one row per behaviour; beside it one cell per layer, so that many take no more room than few. */
function withSpeed(held, rows) {
  const parts = [
    ["correspondence", "All layers", rows.filter((row) => row.layer === "all")],
    ["correspondence by layer", "Layer by layer", rows.filter((row) => row.layer !== "all")],
  ].filter(([, , its]) => its.length > 0);
  return parts.map(([name, title, its]) => {
    const chart = make("div", { class: "chart", role: "img", "data-chart": name, "aria-label": `${title}. ${its.map((row) => row.tip).join("; ")}` });
    held.append(make("div", {}, make("h4", {}, title, name === "correspondence" ? "" : keyOf([["up", "higher if faster"], ["down", "higher if slower"], ["unclear", "interval includes 0"]])), chart));
    return draw(chart, name, { tables: { correspondence: its }, size: { height: 24 * new Set(its.map((row) => row.y)).size } });
  });
}

const sayRho = ({ layer, title, rho, low, high, points }) => {
  const where = `${title}, ${layer === "all" ? "all layers" : `layer ${layer}`}`;
  if (rho === null) return `${where}: no correlation is defined`;
  return `${where}: ρ ${short(rho)}${low === null || high === null ? "" : ` (${short(low)} to ${short(high)})`}${points === null ? "" : `, ${points} points`}`;
};

function rhoSide({ rho, low, high }) {
  if (rho === null || low === null || high === null || (low <= 0 && high >= 0)) return "unclear";
  return rho > 0 ? "above" : "below";
}

/** All layers in words: what increases with speed, and what decreases. */
function verdict(rows, x) {
  const all = rows.filter((row) => row.layer === "all" && row.rho !== null);
  const [faster, slower] = x === "theta" ? ["faster planes", "slower planes"] : ["heads with faster frequencies", "heads with slower frequencies"];
  const told = [["above", `Higher in ${faster}`], ["below", `Higher in ${slower}`], ["unclear", "No clear correlation"]];
  return told.map(([side, words]) => [words, all.filter((row) => row.side === side)]).filter(([, its]) => its.length)
    .map(([words, its]) => `${words}: ${its.map((row) => `${row.title} (ρ ${short(row.rho)})`).join(", ")}.`).join(" ");
}
