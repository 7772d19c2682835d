// The positional part of attention: every head by locality and balance, and the matrices.
const positional = page.about.positional ?? { views: [], cells: {} };
const ofPlace = new Set(scores.filter((score) => score.kind === "Positional part").map((score) => score.key));
const sourceTitles = positional.titles ?? {};
const repaints = new Set(); // one for every matrix on the page

const repaintAll = () => repaints.forEach((repaint) => repaint());
night.addEventListener("change", repaintAll);
paper.addEventListener("change", repaintAll);
window.addEventListener("beforeprint", repaintAll);
window.addEventListener("afterprint", repaintAll);

widgets["positional-plane"] = (element) => {
  const views = positional.views.filter(({ keys }) => keys.locality !== undefined && keys.balance !== undefined);
  const chart = make("div", { class: "chart", id: "positional-plane", tabindex: "0", role: "application" });
  const note = make("p", { class: "note", hidden: true });
  const spans = views.map(({ keys }) => byKey.get(keys.locality).span);
  const span = [Math.min(0, ...spans.map(([low]) => low)), Math.max(...spans.map(([, high]) => high))];
  const plain = views.filter((one) => !one.contextual);
  const gammaOf = (one) => views.find(({ source }) => source === `${one.source}.contextual`);
  let [chosen, part, view] = [plain[0] ?? views[0], "place", plain[0] ?? views[0]];
  const pick = () => {
    view = (part === "content" && gammaOf(chosen)) || chosen;
    if (contents) contents.hidden = !gammaOf(chosen);
    return show();
  };
  const contents = plain.some(gammaOf) ? switchOf("Part of attention", [["place", "Position"], ["content", "What content adds, γ"]], "place", (name) => { part = name; pick(); }) : "";
  const bar = make("div", { class: "controls" }, switchOf("Source of the positional part", plain.map((one) => [one.source, one.title]), chosen.source, (source) => { chosen = plain.find((one) => one.source === source); pick(); }), contents);
  element.append(bar, chart, note);

  const pair = () => [byKey.get(view.keys.locality), byKey.get(view.keys.balance)];
  const at = (head) => pair().map((score) => value(head, score));
  const placed = () => heads.filter((head) => at(head).every((number) => number !== null));

  function show() {
    const [x, y] = pair();
    chart.setAttribute("aria-label", `All heads: locality across, balance up, ${view.title}. Arrow keys select the next head along an axis.`);
    tellMissing(note, heads.length - placed().length, "here");
    const shown = ["locality", "balance", "left_right_bias"].map((name) => view.keys[name]).filter((key) => key !== undefined);
    const rows = headRows([x.key, y.key], shown);
    const words = { x: x.key, "x title": "locality → nearer", y: y.key, "y title": "balance → equal on both sides" };
    return draw(chart, "plane", { words, params: { x_span: span, y_span: [0, 1] }, tables: { heads: rows }, size: { height: squarish(chart) } });
  }

  pickHeads(chart, placed, at);
  return pick();
};

/** The selected head's numbers, source by source. */
widgets["positional-head"] = (element) => {
  const measures = ["locality", "balance", "left_right_bias"];
  const cell = (head, view, name) => {
    const score = byKey.get(view.keys[name]);
    return make("td", score ? { title: sayScore(head, score) } : {}, score ? short(value(head, score)) : "–");
  };
  whenSelected((head) => {
    const rows = positional.views.map((view) => make("tr", view.contextual ? { class: "gamma" } : {}, make("th", { scope: "row" }, view.contextual ? "γ relative to it" : view.title), ...measures.map((name) => cell(head, view, name))));
    const top = make("tr", {}, make("th", { scope: "col" }, head.name), ...measures.map((name) => make("th", { scope: "col" }, name.replace("left_right_bias", "left/right bias"))));
    element.replaceChildren(make("table", { class: "of-head" }, make("caption", { class: "unseen" }, `The positional part of ${head.name}`), make("thead", {}, top), make("tbody", {}, ...rows)));
  });
};

/** A matrix as a picture with one pixel per cell, in the reader's light. */
function matrixOf(line, label) {
  const { levels } = positional;
  const side = Math.sqrt(line.length);
  const canvas = make("canvas", { width: side, height: side, role: "img", "aria-label": label });
  const paint = () => {
    const context = canvas.getContext("2d");
    const image = context.createImageData(side, side);
    const ramp = rampOf(isDark() ? positional.ramp.dark : positional.ramp.light);
    [...line].forEach((mark, at) => {
      const level = levels.indexOf(mark);
      if (level >= 0) image.data.set([...ramp(level / (levels.length - 1)), 255], 4 * at);
    });
    context.putImageData(image, 0, 0);
  };
  paint();
  repaints.add(paint);
  return { canvas, forget: () => repaints.delete(paint) };
}

/** A colour between the steps of a scale, from 0 to 1. */
function rampOf(colours) {
  const steps = colours.map((colour) => [1, 3, 5].map((from) => parseInt(colour.slice(from, from + 2), 16)));
  return (share) => {
    const at = Math.min(share * (steps.length - 1), steps.length - 1.000001);
    const below = Math.floor(at);
    return steps[below].map((one, channel) => Math.round(one + (at - below) * (steps[below + 1][channel] - one)));
  };
}

const timesEven = (doublings) => {
  const times = 2 ** doublings;
  const edge = Math.abs(doublings) >= positional.reach - 1e-9 ? (doublings > 0 ? "at least " : "at most ") : "";
  return `${edge}${short(times)} × uniform attention`;
};

widgets["positional-maps"] = (element) => {
  const { cells, sizes, levels, reach, offsets, profiles, evens } = positional;
  const sources = Object.keys(cells);
  const kept = new Map(); // where matrices stand -> what forgets them
  let source = sources[0];
  const title = make("h4");
  const big = make("div", { class: "matrix" });
  const siblings = make("div", { class: "matrices", role: "group" });
  const chart = make("div", { class: "chart", id: "positional-offsets", role: "img" });
  const says = make("p", { class: "note" });
  const layers = make("div", { class: "by-layer" });
  const switches = switchOf("Source of the maps", sources.map((name) => [name, sourceTitles[name]]), source, (name) => { source = name; show(byName.get(state.selected)); });
  const legend = make("div", { class: "legend", "aria-hidden": "true" }, make("div", { class: "ramp" }), make("span", {}, `1/${2 ** reach} ×`), make("span", {}, "uniform attention"), make("span", {}, `${2 ** reach} ×`));
  const left = make("div", {}, title, big, legend);
  const right = make("div", {}, make("h4", {}, "Mean attention by offset, all sources"), chart, keyOfSources(sources), says);
  element.append(make("div", { class: "controls" }, switches), make("div", { class: "pair maps-pair" }, left, right), siblings, layers);

  function put(place, matrices) {
    kept.get(place)?.forEach((matrix) => matrix.forget());
    kept.set(place, matrices);
  }

  function pointed(event, line) {
    const box = event.currentTarget.getBoundingClientRect();
    const [side, n] = [Math.sqrt(line.length), sizes[source]];
    const [key, query] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height].map((share) => Math.min(side - 1, Math.max(0, Math.floor(share * side))));
    const level = levels.indexOf(line[query * side + key]);
    const span = (at) => { const [first, last] = [Math.ceil((at * n) / side), Math.ceil(((at + 1) * n) / side) - 1]; return first === last ? `${first}` : `${first} to ${last}`; };
    const said = level < 0 ? "not visible" : timesEven(reach * ((2 * level) / (levels.length - 1) - 1));
    showTip(null, event, { datum: { tip: `query ${span(query)}, key ${span(key)}: ${said}` } }, true);
  }

  /** A small matrix that selects a head. */
  function tile(line, words, head, pressed) {
    const matrix = matrixOf(line, words);
    const button = make("button", { type: "button", class: "tile", "aria-pressed": pressed === undefined ? undefined : String(pressed), "aria-label": words, onclick: () => select(head) }, matrix.canvas, make("span", {}, pressed === undefined ? words.split(",")[0] : head));
    return { matrix, button };
  }

  /** Tiles in one line if they fit. */
  function rowOf(buttons) {
    const row = make("div", { class: "tiles-row" }, ...buttons);
    row.style.setProperty("--many", Math.max(4, Math.min(12, buttons.length)));
    return row;
  }

  function showHead(head) {
    const line = cells[source][head.name];
    const name = line ? head.name : `L${head.layer}`;
    title.textContent = `${head.name}, ${sourceTitles[source].replace(/^[A-Z]/, (first) => first.toLowerCase())}`;
    if (!line) {
      put(big, []);
      big.replaceChildren(make("p", { class: "nothing" }, "This source has no map of this head."));
    } else {
      const matrix = matrixOf(line, `Attention of ${head.name} by query and key. ${peakOf(source, name)}`);
      matrix.canvas.addEventListener("pointermove", (event) => pointed(event, line));
      matrix.canvas.addEventListener("pointerleave", (event) => showTip(null, event, null, null));
      put(big, [matrix]);
      big.replaceChildren(make("span", { class: "up" }, "query"), matrix.canvas, make("span", { class: "across" }, "key"));
    }
    const mine = heads.filter((other) => other.layer === head.layer && cells[source][other.name]);
    const tiles = mine.map((other) => tile(cells[source][other.name], `${other.name}`, other.name, other.name === head.name));
    put(siblings, tiles.map(({ matrix }) => matrix));
    siblings.setAttribute("aria-label", `Heads of layer ${head.layer}`);
    siblings.replaceChildren(...(tiles.length > 1 ? [make("h4", {}, `All heads of layer ${head.layer}`), rowOf(tiles.map(({ button }) => button))] : []));
  }

  function peakOf(name, who) {
    const profile = profiles[name]?.[who] ?? [];
    const top = profile.reduce((best, one, at) => ((one ?? -1) > (profile[best] ?? -1) ? at : best), 0);
    return profile.length ? `Near the diagonal it is strongest at offset ${offsetText(offsets[top])}, ${short(profile[top])} on average.` : "";
  }

  function showOffsets(head) {
    const rows = sources.flatMap((name) => (profiles[name]?.[head.name] ?? []).map((mass, at) => ({ source: name, offset: offsets[at], value: mass, even: evens[name]?.[`L${head.layer}`]?.[at] ?? null, tip: `${sourceTitles[name]}, offset ${offsetText(offsets[at])}: ${short(mass, 4)}` })).filter((row) => row.value !== null));
    says.textContent = peakOf(source, head.name);
    chart.setAttribute("aria-label", `Mean attention of ${head.name} by offset. ${sources.map((name) => `${sourceTitles[name]}: ${peakOf(name, head.name)}`).join(" ")}`);
    return draw(chart, "positional_offsets", { tables: { positional_profile: rows }, size: { height: element.clientWidth < 500 ? 210 : 270 } });
  }

  /** The mean of heads: one row per source, one map per layer. */
  function showLayers() {
    sources.forEach((name) => {
      const those = Object.keys(cells[name]).filter((who) => !who.includes("H")).sort((one, two) => one.slice(1) - two.slice(1));
      const buttons = those.map((who) => {
        const layer = Number(who.slice(1));
        const there = heads.filter((head) => head.layer === layer).map((head) => head.name);
        return tile(cells[name][who], `layer ${layer}, ${sourceTitles[name]}, mean of its heads`, there[0]).button;
      });
      layers.append(make("div", {}, make("h4", {}, sourceTitles[name], make("span", { class: "dim" }, " mean of heads")), rowOf(buttons)));
      layers.style.setProperty("--wide", `${Math.min(1100, 82 * buttons.length)}px`);
    });
  }

  function show(head) {
    showHead(head);
    return showOffsets(head);
  }
  showLayers();
  whenSelected(show);
};

function keyOfSources(sources) {
  const lines = sources.map((name) => {
    const [base, gamma] = [name.replace(".contextual", ""), name.endsWith(".contextual")];
    return make("span", {}, make("i", { class: `line of-${base}${gamma ? " of-gamma" : ""}` }), sourceTitles[name]);
  });
  return make("p", { class: "key" }, ...lines, make("span", {}, make("i", { class: "line of-even" }), "uniform attention"));
}
