// Layer by head for one score, with all scores as small maps to choose from.
widgets.maps = (element) => {
  const title = make("h3");
  const asks = make("p", { class: "asks" });
  const legend = make("div", { class: "legend", "aria-hidden": "true" });
  const charts = make("div", { class: "map-charts", id: "map-charts", tabindex: "0", role: "application" });
  const big = make("div", { class: "panel" }, title, asks, legend, charts);
  const thumbs = make("div", { class: "thumbs", role: "group", "aria-label": "Choose a score for the map" });
  const first = kinds.includes(byKey.get(state.map).kind) ? byKey.get(state.map).kind : kinds[0];
  element.append(big, make("div", {}, switchOf("Kind of score", kinds.map((kind) => [kind, kind]), first, (kind) => small(kind)), thumbs));

  const places = parts.map((part) => {
    const chart = make("div", { class: "chart" });
    if (parts.length > 1) charts.append(make("h4", {}, part));
    charts.append(chart);
    return { part, chart };
  });
  const request = (score, rows) => ({ words: { score: score.key }, params: { reach: score.reach, base: score.range[0] }, tables: { heads: rows } });
  const buttons = new Map(); // of the kind that is shown

  const layersOf = (rows) => new Set(rows.map((head) => head.layer)).size;
  const step = Math.max(14, Math.min(56, 400 / layersOf(heads)));

  function show() {
    const score = byKey.get(state.map);
    title.replaceChildren(make("code", {}, score.name));
    asks.textContent = score.asks;
    charts.setAttribute("aria-label", `Map of ${score.name} by layer and head. Arrow keys move the selection.`);
    legend.replaceChildren(...legendOf(score));
    buttons.forEach((button, key) => button.setAttribute("aria-pressed", String(key === state.map)));
    return Promise.all(places.map(({ part, chart }) => {
      const rows = headRows([score.key]).filter((head) => head.part === part);
      return draw(chart, "map", { ...request(score, rows), size: { height: step * layersOf(rows) } });
    }));
  }

  function legendOf(score) {
    const levels = [...new Set(heads.map((head) => chance(head, score)).filter((level) => level !== null))];
    if (levels.length === 0) {
      const top = score.open[1] ? `${short(score.range[0] + score.reach)}, no upper end` : short(score.range[0] + score.reach);
      return [make("div", { class: "ramp rising" }), make("span", {}, short(score.range[0])), make("span", {}, "no chance level"), make("span", {}, top)];
    }
    const middle = levels.length === 1 ? `chance ${short(levels[0])}` : "chance";
    return [make("div", { class: "ramp" }), make("span", {}, `−${short(score.reach)} below`), make("span", {}, middle), make("span", {}, `above +${short(score.reach)}`)];
  }

  function thumbOf(score) {
    const picture = make("span", { class: "chart" });
    const press = () => { state.map = score.key; show(); };
    return make("button", { class: "thumb", type: "button", "data-score": score.name, title: score.name, "aria-pressed": String(score.key === state.map), onclick: press }, make("span", { class: "name" }, ...score.name.split(/(?<=[._@])/).flatMap((piece) => [piece, make("wbr")])), picture);
  }

  walkWithKeys(charts, (head, right, down) => {
    const [layer, number] = right ? [head.layer, head.head + right] : [head.layer + down, head.head];
    return heads.find((other) => other.layer === layer && other.head === number);
  });

  function small(kind) {
    buttons.forEach((button) => forget(button.querySelector(".chart")));
    buttons.clear();
    const its = answered.filter((score) => score.kind === kind);
    its.forEach((score) => buttons.set(score.key, thumbOf(score)));
    thumbs.replaceChildren(...buttons.values());
    return Promise.all(its.map((score) => draw(buttons.get(score.key).querySelector(".chart"), "thumb", {
      ...request(score, headRows([score.key])), size: { width: 120, height: 90, autosize: "none", padding: 0 }, renderer: "canvas",
    })));
  }
  return show().then(() => small(first));
};
