// All heads between two scores. Arrow keys walk from head to head along an axis.
widgets.plane = (element) => {
  const chart = make("div", { class: "chart", id: "plane-chart", tabindex: "0", role: "application" });
  const note = make("p", { class: "note", hidden: true });
  const options = answered.map((score) => [score.key, score.name]);
  const choose = (axis) => (key) => { state[axis] = key; show(); };
  const across = choice("Across", options, state.x, choose("x"));
  const up = choice("Up", options, state.y, choose("y"));
  element.append(make("div", { class: "controls" }, across, up), chart, note);

  const placed = () => heads.filter((head) => value(head, byKey.get(state.x)) !== null && value(head, byKey.get(state.y)) !== null);

  function show() {
    const [x, y] = [byKey.get(state.x), byKey.get(state.y)];
    const left = heads.length - placed().length;
    chart.setAttribute("aria-label", `All heads: ${x.name} across, ${y.name} up. Arrow keys select the next head along an axis.`);
    note.textContent = `${left} of ${heads.length} heads have no value in one of the two scores and are not shown.`;
    note.hidden = left === 0;
    const words = { x: x.key, "x title": x.name, y: y.key, "y title": y.name };
    const room = innerHeight - (chart.getBoundingClientRect().top + scrollY) - 150; // axes and legend stay on the first screen
    const height = element.clientWidth < 500 ? 300 : Math.max(340, Math.min(room, 560));
    return draw(chart, "plane", { words, params: { x_span: x.span, y_span: y.span }, tables: { heads: rowsOf(page.tables.heads) }, size: { height } });
  }

  // A finger is wider than a mark: beside every mark, the nearest one is meant.
  chart.addEventListener("click", (event) => {
    const view = views.get(chart);
    const box = chart.querySelector("svg")?.getBoundingClientRect();
    if (!view || !box) return;
    const [left, top] = [box.left + view.padding().left + view.origin()[0], box.top + view.padding().top + view.origin()[1]];
    const away = (head) => Math.hypot(
      left + view.scale("x")(value(head, byKey.get(state.x))) - event.clientX,
      top + view.scale("y")(value(head, byKey.get(state.y))) - event.clientY,
    );
    const near = placed().reduce((best, head) => (away(head) < away(best) ? head : best));
    if (away(near) < 22) select(near.name);
  });

  walkWithKeys(chart, (head, right, down) => {
    const score = byKey.get(right ? state.x : state.y);
    const order = placed().sort((a, b) => value(a, score) - value(b, score));
    const at = order.indexOf(head);
    return at < 0 ? order[0] : order[at + (right || -down)];
  });
  return show();
};
