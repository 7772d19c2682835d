// Every head by three shares: position on the left, content on the right, both together above.
const tall = Math.sqrt(3) / 2;

widgets.triangle = (element) => {
  const { triples } = page.about;
  const chart = make("div", { class: "chart", id: "triangle-chart", tabindex: "0", role: "application" });
  const told = make("p", { class: "note" });
  const note = make("p", { class: "note", hidden: true });
  let triple = triples[0];
  const pick = (name) => { triple = triples.find((one) => one.name === name); show(); };
  const choices = switchOf("How the shares are weighted", triples.map((one) => [one.name, one.label]), triple.name, pick);
  const key = make("ul", { class: "baselines" });
  element.append(choices ? make("div", { class: "controls" }, choices) : "", chart, key, told, note);

  const sharesOf = (head) => triple.keys.map((key) => head[`value_${key}`]);
  const placed = () => heads.filter((head) => sharesOf(head).every((share) => share !== null));

  function at(head) {
    const [where, what, rest] = sharesOf(head);
    const whole = where + what + rest;
    return [(what + rest / 2) / whole, (tall * rest) / whole];
  }

  function show() {
    const [where, what, rest] = triple.keys;
    const [left, right, top] = triple.corners.map(([title]) => title);
    chart.setAttribute("aria-label", `All heads in a triangle of shares: ${left} on the left, ${right} on the right, ${top} above. Arrow keys select the next head.`);
    told.textContent = `${triple.note} Lines mark quarters; in a tinted corner one share exceeds one half.`;
    tellMissing(note, heads.length - placed().length, "for these shares");
    key.replaceChildren(...signs());
    const corners = rowsOf(page.tables.corners).map((row, corner) => ({ ...row, title: triple.corners[corner][0], note: triple.corners[corner][1] }));
    const tables = { heads: headRows(triple.keys), lines: rowsOf(page.tables.lines), halves: rowsOf(page.tables.halves), corners };
    const room = innerHeight - (chart.getBoundingClientRect().top + scrollY) - 24;
    const height = Math.min(Math.max(380, Math.min(room, 620)), 0.84 * chart.clientWidth + 60);
    return draw(chart, "triangle", { words: { where, what, rest }, tables, size: { height } });
  }

  /** What the marks other than heads mean, as far as there are any. */
  function signs() {
    const has = (number) => placed().some((head) => triple.keys.every((one) => (head[`${number}_${one}`] ?? null) !== null));
    const mixed = placed().filter((head) => head.mixed === 1).length;
    const why = [...new Set(placed().flatMap((head) => (page.about.mixed[head.name] ?? []).slice(1)))];
    const sign = (shape, name, words) => make("li", {}, make("i", { class: `sign ${shape}` }), make("b", {}, name), ` ${words}`);
    return [
      ...(has("chance") ? [sign("noise", "noise:", triple.name === "attended" ? "random logits, as peaked as the heads." : "a table of random logits.")] : []),
      ...(has("untrained") ? [sign("fresh", "untrained:", `untrained weights of the same architecture, ${page.about.fresh}.`)] : []),
      ...(mixed ? [sign("ring", `${mixed} ${mixed === 1 ? "head" : "heads"}`, `on which the measurements disagree. ${why.join(" ")}`)] : []),
    ];
  }

  pickHeads(chart, placed, at);
  return show();
};
