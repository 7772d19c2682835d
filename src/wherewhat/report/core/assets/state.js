// What the reader has chosen, and the small things every part of the page uses to show it.
const { scores = [], parts = [] } = page.about; // a page without heads has none
const answered = scores.filter((score) => score.answered > 0);
const kinds = (page.about.kinds ?? []).filter((kind) => answered.some((score) => score.kind === kind));
const byKey = new Map(scores.map((score) => [score.key, score]));
const heads = rowsOf(page.tables.heads ?? { name: [] });
const byName = new Map(heads.map((head) => [head.name, head]));
const columnNames = ["value", "low", "high", "chance", "untrained"];
const state = { selected: page.about.selected, x: page.about.x, y: page.about.y, map: page.about.map };
const listeners = []; // called with the selected head
const widgets = {}; // name -> (element) => void

const value = (head, score) => head[`value_${score.key}`];
const chance = (head, score) => head[`chance_${score.key}`];
const untrained = (head, score) => head[`untrained_${score.key}`] ?? null;
const rests = (head, score) => score.rests?.[head[`rests_${score.key}`] ?? 0] ?? { said: "", few: false };
const ends = (head, score) => [head[`low_${score.key}`], head[`high_${score.key}`]];

function select(name) {
  if (!byName.has(name) || name === state.selected) return;
  state.selected = name;
  tellViews();
  listeners.forEach((listener) => listener(byName.get(name)));
  document.getElementById("live").textContent = spoken(byName.get(name));
}

function whenSelected(listener) {
  if (!heads.length) return;
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

/** A list of all scores that have values, kind by kind. */
function scoreChoice(label, chosen, onchange) {
  const held = choice(label, [], chosen, onchange);
  const list = held.querySelector("select");
  const option = (score) => new Option(score.name, score.key, score.key === chosen, score.key === chosen);
  if (kinds.length < 2) list.append(...answered.map(option));
  else kinds.forEach((kind) => list.append(make("optgroup", { label: kind }, ...answered.filter((score) => score.kind === kind).map(option))));
  return held;
}

/** A row of buttons of which one is pressed; nothing when there is nothing to choose. */
function switchOf(label, options, chosen, onpick) {
  if (options.length < 2) return "";
  const press = (key) => {
    buttons.forEach((button, own) => button.setAttribute("aria-pressed", String(own === key)));
    onpick(key);
  };
  const buttons = new Map(options.map(([key, name]) => [key, make("button", { type: "button", "data-choice": key, "aria-pressed": String(key === chosen), onclick: () => press(key) }, name)]));
  return make("div", { class: "switch", role: "group", "aria-label": label }, ...buttons.values());
}

/** One row per head with only the columns of some scores; `shows` is what the card beside the pointer shows. */
function headRows(keys, shows = keys) {
  return heads.map((head) => {
    const row = { name: head.name, layer: head.layer, head: head.head, part: head.part, mixed: head.mixed, shows };
    keys.forEach((key) => columnNames.forEach((name) => { row[`${name}_${key}`] = head[`${name}_${key}`]; }));
    return row;
  });
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
  const fresh = untrained(head, score) === null ? "" : `, untrained ${short(untrained(head, score))}`;
  const { said, few } = rests(head, score);
  return `${score.name} ${short(value(head, score))}${between}${against}${fresh}${said && `; ${few ? "only " : ""}${said}`}`;
}

/** Above or below chance, or unclear (the interval includes it); bare without a chance level or an interval. */
function sideOf(head, score) {
  const [low, high] = ends(head, score);
  const level = chance(head, score);
  if (value(head, score) !== null && level === null) return "bare";
  if (value(head, score) === null) return "unclear";
  if (low === null || high === null) return "bare";
  if (low <= level && level <= high) return "unclear";
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

/** Where a head is, in words; the name of a head of a model with several parts says it already. */
const placeOf = (head) => (page.about.parts.length > 1 ? "" : [`layer ${head.layer}`, `head ${head.head}`, head.part].filter(Boolean).join(", "));
