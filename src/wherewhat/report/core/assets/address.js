// The selected head in the page's address: report.html#L3H7 opens it, and a selection can be copied as a link.
const firstSelected = state.selected;
let walking = false; // steps by arrow keys are one entry of the history, or going back would take as many

/** The name of a head that an address means, whatever its case; nothing if it means something else. */
function addressed(hash) {
  let name = hash.slice(1);
  try {
    name = decodeURIComponent(name);
  } catch {
    return undefined; // a broken escape is no name
  }
  return byName.has(name) ? name : heads.find((head) => head.name.toLowerCase() === name.toLowerCase())?.name;
}

/** Write the address; a frame may forbid it, and then the page works as before. */
function remember(way, name, hash) {
  try {
    history[way]({ head: name }, "", hash);
  } catch {
    return;
  }
}

function tellUnknown(hash) {
  document.getElementById("unknown-head")?.remove();
  if (!/^#l\d+h\d+$/i.test(hash) || !heads.length || addressed(hash)) return;
  const said = `This page has no head ${hash.slice(1)}; ${state.selected} is selected.`;
  document.querySelector("nav").after(make("p", { id: "unknown-head", class: "note", role: "status" }, said));
}

/** Go to the head that the address names, unless the browser restores where the reader was. */
function openAddress() {
  if (!heads.length) return;
  if (addressed(location.hash) && !history.state?.head) document.getElementById("head")?.scrollIntoView({ behavior: "instant" });
  tellUnknown(location.hash);
  remember("replaceState", state.selected, location.href);
}

if (heads.length) {
  const came = byName.has(history.state?.head) ? history.state.head : undefined; // on reloading, what was selected
  state.selected = addressed(location.hash) ?? came ?? state.selected; // before anything is drawn
  let told = state.selected;
  document.addEventListener("keydown", (event) => { walking = walking && event.key.startsWith("Arrow"); }, true);
  document.addEventListener("pointerdown", () => { walking = false; }, true);
  listeners.push(({ name }) => {
    if (name === told) return; // the history itself has moved
    told = name;
    document.getElementById("unknown-head")?.remove();
    remember(walking ? "replaceState" : "pushState", name, `#${encodeURIComponent(name)}`);
    walking = window.event?.type === "keydown" && window.event.key.startsWith("Arrow");
  });
  window.addEventListener("popstate", () => {
    const kept = byName.has(history.state?.head) ? history.state.head : undefined;
    told = addressed(location.hash) ?? kept ?? (location.hash ? state.selected : firstSelected);
    select(told);
    openAddress();
  });
}
