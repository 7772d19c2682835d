// The card beside the pointer.
function showTip(handler, event, item, tip) {
  const box = document.getElementById("tip");
  const content = tip && item?.datum ? tipFor(item.datum) : undefined;
  box.hidden = !content;
  if (!content) return;
  box.replaceChildren(...content);
  const { clientX, clientY } = event;
  const { offsetWidth, offsetHeight } = box;
  const left = clientX + 16 + offsetWidth > innerWidth ? clientX - offsetWidth - 12 : clientX + 16;
  const top = Math.min(clientY + 14, innerHeight - offsetHeight - 8);
  box.style.transform = `translate(${Math.max(left, 4)}px, ${Math.max(top, 4)}px)`;
}

window.addEventListener("scroll", () => { document.getElementById("tip").hidden = true; }, { passive: true });

function tipFor(datum) {
  if (datum.tip) return [datum.tip];
  if (byName.has(datum.name)) return headTip(byName.get(datum.name), datum);
  if ("place" in datum) return offsetTip(datum);
  if ("theta" in datum) return frequencyTip(datum);
  return datum.words ? [`${datum.words}: ${short(datum.value)}`] : undefined;
}

function headTip(head, datum) {
  const shown = [...new Set(datum.shows)].map((key) => byKey.get(key));
  const lines = shown.flatMap((score) => scoreLines(head, score));
  const counts = shown.map((score) => rests(head, score).said).filter(Boolean); // once where all are based on the same
  const same = new Set(counts).size < 2 ? counts.slice(0, 1) : shown.map((score) => `${score.name}: ${rests(head, score).said}`);
  return [make("div", {}, make("b", {}, head.name), make("span", { class: "dim" }, ` ${head.part}`)), make("div", { class: "grid" }, ...lines), ...same.map((said) => make("div", { class: "dim" }, said)), ...spark(head.name)];
}

function scoreLines(head, score) {
  const [low, high] = ends(head, score);
  const lines = [[score.name, short(value(head, score))]];
  if (low !== null && high !== null) lines.push(["95 % interval", `${short(low)} to ${short(high)}`]);
  if (chance(head, score) !== null) lines.push(["chance", short(chance(head, score))]);
  if (untrained(head, score) !== null) lines.push(["untrained", short(untrained(head, score))]);
  if (value(head, score) === null) lines.push(["no value", ""]);
  return lines.flatMap(([name, said], line) => [make("span", line ? { class: "dim" } : {}, name), make("span", line ? { class: "dim" } : {}, said)]);
}

function offsetTip(datum) {
  const span = datum.from === datum.to ? `offset ${offsetText(datum.from)}` : `offsets ${offsetText(datum.from)} to ${offsetText(datum.to)}`;
  const lines = [[span, ""], ["mean attention", short(datum.mass, 4)], ["mean of all heads", short(datum.all, 4)]];
  return [make("div", { class: "grid" }, ...lines.flatMap(([name, said]) => [make("span", {}, name), make("span", {}, said)]))];
}

function frequencyTip({ theta, measures }) {
  const turn = theta > 0 ? `${short(theta)} radians per token` : "does not rotate";
  const lines = [[turn, ""], ["wavelength", wavelength(theta)], ...measures.map(([name, number]) => [measureNames[name], short(number)])];
  return [make("div", { class: "grid" }, ...lines.flatMap(([name, said], line) => [make("span", line ? { class: "dim" } : {}, name), make("span", {}, said)]))];
}

/** A head's profile near the query, small enough for the card. */
function spark(name) {
  const { place, [name]: masses } = page.tables.offsets ?? {};
  if (!masses) return [];
  const near = place.map((at, bar) => [at, masses[bar] ?? 0]).filter(([at]) => Math.abs(at) <= 16);
  const top = Math.max(...near.map(([, mass]) => mass), 1e-9);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "-16.5 0 33 7");
  svg.setAttribute("preserveAspectRatio", "none");
  near.forEach(([at, mass]) => {
    const bar = document.createElementNS(svg.namespaceURI, "rect");
    const height = Math.sqrt(mass / top) * 7;
    Object.entries({ x: at - 0.38, y: 7 - height, width: 0.76, height }).forEach(([key, given]) => bar.setAttribute(key, given));
    svg.append(bar);
  });
  return [svg];
}
