// The selected head in short: each measurement of position against content, entropy, and its strongest other scores.
widgets.summary = (element) => {
  const named = (name) => answered.find((score) => score.name === name);
  const [entropy, sink] = [named("entropy"), named("sink")];
  const others = answered.filter((score) => score.kind === "Attention" && !score.open[0] && !score.open[1] && score !== entropy && score !== sink);

  whenSelected((head) => {
    const verdict = page.about.verdicts[head.verdict] ?? "";
    const why = page.about.mixed[head.name];
    element.replaceChildren(
      make("div", { class: "title" }, make("h3", {}, head.name, make("span", {}, placeOf(head))), make("a", { href: "#head" }, "full profile ↓")),
      verdict ? make("p", { class: "verdict" }, `${verdict}.`) : "",
      why ? make("p", { class: "mixed" }, make("i", { class: "sign ring" }), make("b", {}, "Measurements disagree. "), why.join(" ")) : "",
      ...page.about.views.map((view) => viewOf(head, view)),
      listOf(head, [entropy, sink, ...strongest(head)].filter((score) => score && value(head, score) !== null)),
    );
  });

  /** The scores of attention in which this head is farthest from chance. */
  function strongest(head) {
    const away = (score) => Math.abs(value(head, score) - chance(head, score)) / (score.range[1] - score.range[0] || 1);
    const known = others.filter((score) => value(head, score) !== null && chance(head, score) !== null && ["above", "below", "bare"].includes(sideOf(head, score)));
    return known.sort((one, two) => away(two) - away(one)).slice(0, 3);
  }
};

/** One measurement: a bar of three shares above those of its baselines, or two scores each on its own rail. */
function viewOf(head, view) {
  const its = view.keys.map((key) => byKey.get(key));
  const there = its.every((score) => value(head, score) !== null);
  const { said, few } = rests(head, its[0]);
  const title = make("h4", {}, view.label, make("span", { class: few ? "few" : "", title: few ? "one text, or fewer than 30 rows" : "" }, `${few && there ? "only " : ""}${there ? said : ""}`));
  if (!there) return make("section", {}, title, make("p", { class: "note" }, "No value for this head."));
  const numbers = make("div", { class: "shares" }, ...its.map((score, hue) => make("span", { title: sayScore(head, score) }, make("i", { class: "swatch", "data-hue": hue }), view.words[hue], make("b", {}, short(value(head, score))), make("br"), make("small", {}, between(head, score)))));
  if (its.length === 2) numbers.append(make("span", { class: "rails" }, ...(chance(head, its[0]) === null ? [] : ["┃ chance"]), make("br"), ...(untrained(head, its[0]) === null ? [] : ["○ untrained"])));
  return make("section", {}, title, ...(its.length === 3 ? barsOf(head, its) : its.map((score, hue) => railOf(head, score, hue))), numbers);
}

const between = (head, score) => {
  const [low, high] = ends(head, score);
  return low === null || high === null ? "no interval" : `${short(low)}–${short(high)}`;
};

function barsOf(head, its) {
  const rows = [["", value], ["untrained", untrained], ["noise", chance]];
  const known = rows.filter(([, of]) => its.every((score) => of(head, score) !== null));
  return known.map(([name, of]) => make("div", { class: name ? "bars baseline" : "bars" }, barOf(its.map((score) => of(head, score))), make("small", {}, name)));
}

function barOf(shares) {
  const bar = make("div", { class: "bar", "aria-hidden": "true" }, ...shares.map((_, hue) => make("i", { "data-hue": hue })));
  [...bar.children].forEach((piece, hue) => { piece.style.flexGrow = String(Math.max(shares[hue], 0)); });
  return bar;
}

/** One score from end to end: its value with the interval, a tick at chance, a ring at untrained weights. */
function railOf(head, score, hue) {
  const svg = (name, attributes, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, given]) => made.setAttribute(key, given));
    made.append(...children);
    return made;
  };
  const [bottom, top] = score.range;
  const at = (number) => `${(100 * Math.min(Math.max((number - bottom) / (top - bottom || 1), 0), 1)).toFixed(1)}%`;
  const [low, high] = ends(head, score);
  const [level, fresh] = [chance(head, score), untrained(head, score)];
  const line = (from, to, kind) => svg("line", { x1: at(from), x2: at(to), y1: 7, y2: 7, class: kind });
  return svg("svg", { class: "track", "data-hue": hue, "aria-hidden": "true" },
    svg("line", { x1: 0, x2: "100%", y1: 7, y2: 7, class: "rail" }),
    ...(level === null ? [] : [svg("line", { x1: at(level), x2: at(level), y1: 2, y2: 12, class: "tick" })]),
    ...(fresh === null ? [] : [svg("circle", { cx: at(fresh), cy: 7, r: 3, class: "fresh" })]),
    ...(low === null || high === null ? [] : [line(low, high, "whisker")]),
    svg("circle", { cx: at(value(head, score)), cy: 7, r: 4, class: "dot" }));
}

/** Other scores, one per line: the number, its interval, and its baselines. */
function listOf(head, its) {
  if (!its.length) return "";
  const baselines = [["chance", chance], ["untrained", untrained]].filter(([, of]) => its.some((score) => of(head, score) !== null));
  const heading = make("tr", {}, make("td"), ...["this head", ...baselines.map(([name]) => name)].map((words) => make("th", { scope: "col" }, words)));
  const lines = its.map((score) => make("tr", { title: sayScore(head, score) },
    make("th", { scope: "row" }, score.name, make("small", { class: rests(head, score).few ? "few" : "" }, rests(head, score).said)),
    make("td", { class: sideOf(head, score) }, make("b", {}, short(value(head, score))), make("small", {}, between(head, score))),
    ...baselines.map(([, of]) => make("td", {}, short(of(head, score))))));
  return make("table", {}, make("thead", {}, heading), make("tbody", {}, ...lines));
}
