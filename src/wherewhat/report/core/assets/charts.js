// Draw the page's charts from its patterns and its one copy of the numbers, and keep them in the reader's light.
const page = JSON.parse(document.getElementById("data").textContent);
const views = new Map(); // the element a chart stands in -> its view
const queues = new Map(); // the element -> the drawing that is under way, so that two never mix
const roles = new Map(); // the element -> the role it was made with
const night = matchMedia("(prefers-color-scheme: dark)");
const paper = matchMedia("print");
let printing = false; // the moment before the paper is there

function rowsOf(columns) {
  const names = Object.keys(columns);
  return columns[names[0]].map((_, row) => Object.fromEntries(names.map((name) => [name, columns[name][row]])));
}

/** Put the reader's choice into a pattern: "{x}" becomes words.x wherever a string says so. */
function fill(pattern, words) {
  if (typeof pattern === "string") {
    return pattern.replace(/\{([a-z ]+)\}/g, (all, name) => (Object.hasOwn(words, name) ? words[name] : all));
  }
  if (Array.isArray(pattern)) return pattern.map((item) => fill(item, words));
  if (pattern === null || typeof pattern !== "object") return pattern;
  return Object.fromEntries(Object.entries(pattern).map(([key, value]) => [key, fill(value, words)]));
}

function draw(element, name, request) {
  const role = roles.get(element) ?? element.getAttribute("role");
  roles.set(element, role);
  const called = { label: element.getAttribute("aria-label"), role }; // as it is called now, before another drawing ends
  const after = (queues.get(element) ?? Promise.resolve()).then(() => drawNow(element, name, { ...request, called }));
  queues.set(element, after);
  return after;
}

async function drawNow(element, name, { words = {}, params = {}, tables, size = {}, renderer = "svg", called }) {
  views.get(element)?.finalize();
  const spec = { ...fill(page.charts[name], words), ...size, datasets: tables, description: called.label ?? "" };
  const now = { ...params, dark: isDark(), selected: state.selected };
  spec.params = spec.params.map((param) => ({ ...param, value: now[param.name] ?? param.value }));
  const options = { ast: true, renderer, actions: false, defaultStyle: false, tooltip: showTip, config: page.config };
  const { view } = await vegaEmbed(element, spec, { ...options, mode: "vega-lite" });
  views.set(element, view);
  nameAgain(element, called);
  tellView(view); // the selection may have moved on while this was being drawn
  view.addEventListener("click", (event, item) => item?.datum?.name && select(item.datum.name));
  return view;
}

/** The library gives every chart a role of its own; ours says which keys it answers to. */
function nameAgain(element, { label, role }) {
  if (role === null) element.removeAttribute("role");
  else element.setAttribute("role", role);
  element.removeAttribute("aria-roledescription");
  if (label === null) element.removeAttribute("aria-label");
}

/** A chart that is no longer on the page. */
function forget(element) {
  views.get(element)?.finalize();
  views.delete(element);
  queues.delete(element);
  roles.delete(element);
}

const isDark = () => night.matches && !paper.matches && !printing;
const tellView = (view) => view.signal("selected", state.selected).signal("dark", isDark()).run();
const tellViews = () => views.forEach(tellView);

night.addEventListener("change", tellViews);
paper.addEventListener("change", tellViews);
window.addEventListener("beforeprint", () => { printing = true; tellViews(); });
window.addEventListener("afterprint", () => { printing = false; tellViews(); });
