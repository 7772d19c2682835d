// All heads between two scores. Arrow keys walk from head to head along an axis.
widgets.plane = (element) => {
  const chart = make("div", { class: "chart", id: "plane-chart", tabindex: "0", role: "application" });
  const note = make("p", { class: "note", hidden: true });
  const choose = (axis) => (key) => { state[axis] = key; show(); };
  const across = scoreChoice("Across", state.x, choose("x"));
  const up = scoreChoice("Up", state.y, choose("y"));
  element.append(make("div", { class: "controls" }, across, up), chart, note);

  const placed = () => heads.filter((head) => value(head, byKey.get(state.x)) !== null && value(head, byKey.get(state.y)) !== null);

  function show() {
    const [x, y] = [byKey.get(state.x), byKey.get(state.y)];
    chart.setAttribute("aria-label", `All heads: ${x.name} across, ${y.name} up. Arrow keys select the next head along an axis.`);
    tellMissing(note, heads.length - placed().length, "in one of the two scores");
    const words = { x: x.key, "x title": x.name, y: y.key, "y title": y.name };
    return draw(chart, "plane", { words, params: { x_span: x.span, y_span: y.span }, tables: { heads: headRows([...new Set([x.key, y.key])]) }, size: { height: heightFor(element, chart) } });
  }

  pickHeads(chart, placed, (head) => [value(head, byKey.get(state.x)), value(head, byKey.get(state.y))]);
  return show();
};

/** As high as the first screen leaves room for axes and legend; further down there is no such limit. */
function heightFor(element, chart) {
  const top = chart.getBoundingClientRect().top + scrollY;
  if (element.clientWidth < 500) return 300;
  return top > innerHeight ? 440 : Math.max(340, Math.min(innerHeight - top - 150, 560));
}

function tellMissing(note, left, where) {
  note.textContent = `${left} of ${heads.length} heads have no value ${where} and are not shown.`;
  note.hidden = left === 0;
}

/** Let a cloud of heads be picked by pointer, finger or arrow keys; `at` says where a head stands on the scales. */
function pickHeads(chart, placed, at) {
  // A finger is wider than a mark: beside every mark, the nearest one is meant.
  chart.addEventListener("click", (event) => {
    const view = views.get(chart);
    const svg = chart.querySelector("svg");
    if (!view || !svg || !placed().length) return;
    const box = svg.getBoundingClientRect();
    const shrunk = box.width / (svg.viewBox.baseVal?.width || box.width);
    const [left, top] = [view.padding().left + view.origin()[0], view.padding().top + view.origin()[1]];
    const away = (head) => {
      const [x, y] = at(head);
      return Math.hypot(box.left + shrunk * (left + view.scale("x")(x)) - event.clientX, box.top + shrunk * (top + view.scale("y")(y)) - event.clientY);
    };
    const near = placed().reduce((best, head) => (away(head) < away(best) ? head : best));
    if (away(near) < 22) select(near.name);
  });

  walkWithKeys(chart, (head, right, down) => {
    const axis = right ? 0 : 1;
    const order = placed().sort((a, b) => at(a)[axis] - at(b)[axis]);
    const now = order.indexOf(head);
    return now < 0 ? order[0] : order[now + (right || -down)];
  });
}
