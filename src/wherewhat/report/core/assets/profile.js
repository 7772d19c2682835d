// Where the selected head attends, and its scores against chance.
widgets.profile = (element) => {
  const name = make("h3", { id: "profile-name" });
  const says = make("p", { class: "says" });
  const offsets = make("div", { class: "chart", id: "profile-chart", role: "img" });
  const none = make("p", { class: "nothing", hidden: true }, "No offsets for this head: its queries and keys are in different texts, or the run kept none.");
  const dots = make("div", { class: "chart", id: "dots-chart", role: "img" });
  const list = make("select", { "aria-label": "Selected head", onchange: () => select(list.value) }, ...heads.map((head) => new Option(head.name, head.name)));
  const turn = (by) => () => select(heads[(heads.findIndex((head) => head.name === state.selected) + by + heads.length) % heads.length].name);
  const before = make("button", { type: "button", class: "plain", "aria-label": "Previous head", onclick: turn(-1) }, "←");
  const after = make("button", { type: "button", class: "plain", "aria-label": "Next head", onclick: turn(1) }, "→");
  const key = keyOf([["bar", "this head"], ["mean", "mean of all heads"]]);
  const still = make("p", { class: "note" });
  const frequencies = make("div", { class: "spectrum" });
  const drawSpectrum = spectrumOf(frequencies, "spectrum");
  const left = make("div", {}, offsets, none, key, frequencies, still);
  const sides = new Set(answered.flatMap((score) => heads.map((head) => sideOf(head, score))));
  const told = [["above", "up", "above chance"], ["below", "down", "below chance"], ["unclear", "unclear", "interval includes chance"], ["bare", "bare", "no chance level, or no interval"]];
  const fresh = answered.some((score) => heads.some((head) => untrained(head, score) !== null)) ? [["fresh", "untrained"]] : [];
  const right = make("div", {}, dots, keyOf([...told.filter(([side]) => sides.has(side)).map(([, sign, words]) => [sign, words]), ["tick", "chance"], ...fresh]));
  element.append(make("div", { class: "title" }, name, make("div", { class: "controls" }, before, list, after)), says, make("div", { class: "pair" }, left, right));

  const shown = scores.filter((score) => !ofPlace.has(score.key)); // the positional part has a section of its own
  const inOrder = [...page.about.kinds].flatMap((kind) => shown.filter((score) => score.kind === kind));

  function show(head) {
    const { place, from, to, all, seen, [head.name]: mass } = page.tables.offsets;
    const has = Boolean(mass?.some((one) => one !== null));
    name.replaceChildren(head.name, make("span", {}, placeOf(head)));
    const told = inOrder.filter((score) => value(head, score) !== null);
    const silent = shown.filter((score) => !told.includes(score)).map((score) => score.name);
    says.textContent = [decided(head), has ? peak(from, to, mass.map((one, bar) => (one ?? 0) * seen[bar])) : "", silent.length ? `No value for ${silent.join(", ")}.` : ""].join(" ").trim();
    list.value = head.name;
    offsets.hidden = key.hidden = !has;
    none.hidden = has;
    offsets.setAttribute("aria-label", `Mean attention of ${head.name} by relative offset. ${says.textContent}`);
    dots.setAttribute("aria-label", shown.map((score) => sayScore(head, score)).join("; "));
    const height = element.clientWidth < 500 ? 220 : 300;
    const drawings = [draw(dots, "dots", { tables: { dots: told.map((score) => dot(head, score)) }, size: { height: (told.length > 14 ? 24 : 27) * told.length } })];
    const turns = spectra.has(head.name) && thetas.has(head.layer);
    frequencies.hidden = !turns;
    still.hidden = turns;
    still.textContent = page.about.still[head.layer] ?? "No rotary frequencies for this head: its logits are not rotary, or the run did not measure them.";
    if (turns) drawings.push(drawSpectrum(head.name, head.layer, head.name));
    if (has) drawings.push(draw(offsets, "profile", { params: { bins: place.length }, tables: { profile: rowsOf({ place, from, to, all, mass }) }, size: { height } }));
    return Promise.all(drawings);
  }

  /** What decides its attention, in words. */
  function decided(head) {
    const triple = page.about.triples[0];
    const shares = triple?.keys.map((key) => head[`value_${key}`]) ?? [];
    if (!shares.length || shares.includes(null)) return "";
    const [where, what, rest] = shares.map((share) => `${short(100 * share, 0)} %`);
    const when = { input: "When tokens are permuted at the input, its", shift: "When the text is shifted at the input, its" }[triple.name] ?? "Its";
    return `${when} ${triple.name === "shares" ? "logits are" : "attention is"} decided ${where} by position, ${what} by content, ${rest} by ${triple.corners[2][0]}.`;
  }

  /** Where most of the attention goes, all rows together: a far offset that few rows can see is small here. */
  function peak(from, to, share) {
    const top = share.reduce((best, one, bar) => (one > share[best] ? bar : best), 0);
    const where = from[top] === to[top] ? `offset ${offsetText(from[top])}` : `offsets ${offsetText(from[top])} to ${offsetText(to[top])}`;
    return `It attends most to ${where}, with ${short(share[top])} of all its attention.`;
  }

  function dot(head, score) {
    const [bottom, top] = score.range;
    const at = (number) => (number === null ? null : (number - bottom) / (top - bottom || 1));
    const [low, high] = ends(head, score);
    return {
      score: `${score.name}  ${short(value(head, score), 2)}`, at: at(value(head, score)), low: at(low), high: at(high),
      chance: at(chance(head, score)), untrained: at(untrained(head, score)), side: sideOf(head, score), tip: sayScore(head, score),
    };
  }

  whenSelected(show);
};

// The selected head, in reach from everywhere.
widgets.chip = (element) => {
  if (!heads.length) return;
  element.className = "chip";
  const button = make("button", { type: "button", onclick: () => document.getElementById("head").scrollIntoView() });
  element.append(button);
  whenSelected((head) => {
    button.replaceChildren(make("span", { class: "wide" }, "Selected "), make("b", {}, head.name), " ↓");
    button.setAttribute("aria-label", `${head.name} is selected: go to its profile`);
  });
};
