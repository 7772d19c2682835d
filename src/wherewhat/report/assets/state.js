// What the reader has chosen, and the small things every part of the page uses to show it.
const { scores, parts } = page.about;
const answered = scores.filter((score) => score.answered > 0);
const byKey = new Map(scores.map((score) => [score.key, score]));
const heads = rowsOf(page.tables.heads ?? { name: [] });
const byName = new Map(heads.map((head) => [head.name, head]));
const state = { selected: page.about.selected, x: page.about.x, y: page.about.y, map: page.about.map };
const listeners = []; // called with the selected head
const widgets = {}; // name -> (element) => void

const value = (head, score) => head[`value_${score.key}`];
const chance = (head, score) => head[`chance_${score.key}`];
const ends = (head, score) => [head[`low_${score.key}`], head[`high_${score.key}`]];

function select(name) {
  if (!byName.has(name) || name === state.selected) return;
  state.selected = name;
  tellViews();
  listeners.forEach((listener) => listener(byName.get(name)));
  document.getElementById("live").textContent = spoken(byName.get(name));
}

function whenSelected(listener) {
  listeners.push(listener);
  listener(byName.get(state.selected));
}

/** Make an element; strings among the children become text, never markup. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, given] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), given);
    else if (given !== undefined && given !== false) element.setAttribute(key, given === true ? "" : given);
  }
  element.append(...children.filter((child) => child !== ""));
  return element;
}

function choice(label, options, chosen, onchange) {
  const list = make("select", { onchange: () => onchange(list.value) });
  options.forEach(([key, name]) => list.append(new Option(name, key, key === chosen, key === chosen)));
  return make("label", {}, label, list);
}

function short(number, decimals) {
  if (number === null || number === undefined) return "–";
  const size = Math.abs(number);
  const digits = decimals ?? (size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.0995 || size === 0 ? 2 : 3);
  return number.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");
}

const offsetText = (offset) => String(offset).replace("-", "−");
const spoken = (head) => `${head.name} selected. ${sayScore(head, byKey.get(state.map))}`;

function sayScore(head, score) {
  const [low, high] = ends(head, score);
  if (value(head, score) === null) return `${score.name}: no value`;
  const between = low === null || high === null ? "" : ` (${short(low)} to ${short(high)})`;
  const against = chance(head, score) === null ? "" : `, chance ${short(chance(head, score))}`;
  return `${score.name} ${short(value(head, score))}${between}${against}`;
}

/** Above or below chance, or not told from it. */
function sideOf(head, score) {
  const [low, high] = ends(head, score);
  const level = chance(head, score);
  if (value(head, score) === null || level === null) return "unclear";
  if (low === null || high === null || (low <= level && level <= high)) return "unclear";
  return value(head, score) > level ? "above" : value(head, score) < level ? "below" : "unclear";
}

/** Arrow keys on a chart: `step` answers which head lies that way. */
function walkWithKeys(element, step) {
  const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  element.addEventListener("keydown", (event) => {
    const way = ways[event.key];
    if (!way) return;
    event.preventDefault();
    const next = step(byName.get(state.selected), ...way);
    if (next) select(next.name);
  });
}

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
  if (byName.has(datum.name)) return headTip(byName.get(datum.name), datum);
  if ("place" in datum) return offsetTip(datum);
  return datum.score ? [datum.said] : undefined;
}

function headTip(head, datum) {
  const shown = "away" in datum ? [state.map] : [state.x, state.y]; // only maps measure how far away chance is
  const lines = [...new Set(shown)].flatMap((key) => scoreLines(head, byKey.get(key)));
  return [make("div", {}, make("b", {}, head.name), make("span", { class: "dim" }, ` ${head.part}`)), make("div", { class: "grid" }, ...lines), ...spark(head.name)];
}

function scoreLines(head, score) {
  const [low, high] = ends(head, score);
  const lines = [[score.name, short(value(head, score))]];
  if (low !== null && high !== null) lines.push(["95 % interval", `${short(low)} to ${short(high)}`]);
  if (chance(head, score) !== null) lines.push(["chance", short(chance(head, score))]);
  if (value(head, score) === null) lines.push(["no answer here", ""]);
  return lines.flatMap(([name, said], line) => [make("span", line ? { class: "dim" } : {}, name), make("span", line ? { class: "dim" } : {}, said)]);
}

function offsetTip(datum) {
  const span = datum.from === datum.to ? `offset ${offsetText(datum.from)}` : `offsets ${offsetText(datum.from)} to ${offsetText(datum.to)}`;
  const lines = [[span, ""], ["mean mass", short(datum.mass, 4)], ["mean of all heads", short(datum.all, 4)]];
  return [make("div", { class: "grid" }, ...lines.flatMap(([name, said]) => [make("span", {}, name), make("span", {}, said)]))];
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
