// All heads together by frequency, and how behaviour goes with speed in every layer.
widgets.frequencies = (element) => {
  const drawings = [];
  if (spectra.has("all heads")) {
    const held = make("div", { class: "spectrum" });
    element.append(make("h3", {}, "All heads together, the mean of each frequency"), held);
    drawings.push(spectrumOf(held, "all")("all heads", [...thetas.keys()][0], "all heads"));
  } else if (spectra.size) {
    element.append(make("p", { class: "note" }, "Layers turn at different speeds here, so their frequencies have no common mean; choose a head below to see its own."));
  }
  const titles = { theta: "Does it go with how fast a plane turns?", mean_frequency: "Do heads differ by the mean frequency they rely on, counted from the fastest?" };
  [...new Set(page.about.correspondence.map((row) => row.x))].forEach((x) => {
    const panels = make("div", { class: "panels" });
    element.append(make("h3", {}, titles[x] ?? `Does it go with ${x}?`), panels);
    drawings.push(...panelsOf(panels, page.about.correspondence.filter((row) => row.x === x)));
  });
  return Promise.all(drawings);
};

/** One small chart for every behaviour. */
function panelsOf(panels, rows) {
  return [...new Set(rows.map((row) => row.y))].map((kind) => {
    const its = rows.filter((row) => row.y === kind);
    const chart = make("div", { class: "chart", role: "img", "data-measure": kind, "aria-label": `${its[0].title}: ${its.map(sayRho).join("; ")}` });
    panels.append(make("div", {}, make("h4", {}, its[0].title), make("p", { class: "note" }, verdict(its)), chart));
    const table = its.map((row) => ({ ...row, side: rhoSide(row), said: sayRho(row) }));
    return draw(chart, "correspondence", { tables: { correspondence: table }, size: { height: 19 * its.length + 6 } });
  });
}

const sayRho = ({ layer, rho, low, high, points }) => {
  const where = layer === "all" ? "all layers" : `layer ${layer}`;
  if (rho === null) return `${where}: no correlation is defined`;
  return `${where}: ρ ${short(rho)}${low === null || high === null ? "" : ` (${short(low)} to ${short(high)})`}${points === null ? "" : `, ${points} points`}`;
};

function rhoSide({ rho, low, high }) {
  if (rho === null || low === null || high === null || (low <= 0 && high >= 0)) return "unclear";
  return rho > 0 ? "above" : "below";
}

const saidOf = {
  theta: { above: "More of it in faster planes", below: "More of it in slower planes" },
  mean_frequency: { above: "More of it in heads of slower frequencies", below: "More of it in heads of faster frequencies" },
};

/** All layers in one sentence. A mean frequency is counted from the fastest, so it grows as planes slow down. */
function verdict(rows) {
  const all = rows.find((row) => row.layer === "all");
  if (!all || all.rho === null) return "";
  const side = rhoSide(all);
  const said = side === "unclear" ? "Not told from no relation" : saidOf[all.x]?.[side] ?? (side === "above" ? "They rise together" : "One falls as the other rises");
  return `${said}. ${sayRho(all)[0].toUpperCase()}${sayRho(all).slice(1)}.`;
}
