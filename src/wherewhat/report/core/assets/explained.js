// Attribution: an output and a method are chosen once, and every part of the page that follows them is drawn again.
const { explanations = [] } = page.about; // no other page has any
const choiceOf = { number: 0 }; // the explanation that is shown
const followers = []; // called with its number

function follow(follower) {
  followers.push(follower);
  return follower(choiceOf.number);
}

function choose(number) {
  choiceOf.number = number;
  return Promise.all(followers.map((follower) => follower(number)));
}

const relevanceOf = (number) => page.tables[`relevance-${number}`];
const piecesOf = (number) => page.tables[`pieces-${explanations[number].output}`];
const signed = (number) => (number > 0 ? `+${short(number)}` : short(number));
const mostOf = (values) => Math.max(...values.map(Math.abs), 0);

/** A sentence per explanation. */
widgets.followed = (element) => {
  const words = JSON.parse(element.dataset.words);
  return follow((number) => {
    element.textContent = words[number] ?? "";
    element.hidden = !element.textContent;
  });
};

/** The choice, what is explained, the text, and what its colours mean. */
widgets.explained = (element) => {
  const bar = make("div", { class: "controls" });
  const about = make("p", { class: "explained-output" });
  const text = make("div", { class: "shaded", tabindex: "0", role: "application" });
  const scales = make("div", { class: "scales", "aria-hidden": "true" });
  element.append(bar, about, text, scales);
  let part = "combined";
  let walked = -1; // the slot that the arrow keys have reached

  const sameText = (one, other) => one.text === other.text;
  const firstOf = (numbers) => [...new Map([...numbers].reverse().map((number) => [explanations[number].output, number])).values()].reverse();
  const every = () => explanations.map((_, number) => number);

  /** An explanation of another output or by another method, as near to the shown one as there is. */
  function goTo(output, method) {
    const its = every().filter((number) => explanations[number].output === output);
    choose(its.find((number) => explanations[number].method === method) ?? its[0]);
  }

  /** The first words of a text. */
  function opening(number) {
    const { text: words, spaced } = piecesOf(explanations.findIndex((other) => other.text === number));
    const whole = words.slice(0, 24).map((word, slot) => `${slot && spaced[slot] ? " " : ""}${word}`).join("");
    return whole.length > 32 ? `${whole.slice(0, 30)}…` : whole;
  }

  function controls(number) {
    const now = explanations[number];
    const outputs = firstOf(every().filter((other) => sameText(explanations[other], now))).map((other) => explanations[other]);
    const texts = [...new Map(every().map((other) => [explanations[other].text, other])).keys()];
    const methods = [...new Set(explanations.filter(({ output }) => output === now.output).map(({ method }) => method))];
    const pick = (key) => goTo(Number(key), now.method);
    const named = outputs.map(({ output, name, chance }) => [String(output), chance ? `${name} ${chance}` : name]);
    const atText = (key) => goTo(explanations.find((other) => other.text === Number(key)).output, now.method);
    bar.replaceChildren(...[
      texts.length > 1 ? choice("Text", texts.map((each) => [String(each), `${each + 1}: ${opening(each)}`]), String(now.text), atText) : "",
      named.length > 8 ? choice("Output", named, String(now.output), pick) : switchOf("Output", named, String(now.output), pick),
      switchOf("Method", methods.map((method) => [method, method]), now.method, (method) => goTo(now.output, method)),
      switchOf("Shaded by", now.parts, part, (name) => { part = name; show(choiceOf.number); }),
    ].filter((control) => control !== ""));
    bar.hidden = !bar.childElementCount;
  }

  function outputLine({ kind, name, chance, likeliest, logit }) {
    const numbers = [chance && `probability ${chance}`, logit === null ? "" : `logit ${short(logit)}`].filter(Boolean).join(", ");
    const other = likeliest ? make("span", { class: "dim" }, " The model itself prefers ", make("bdi", {}, `“${likeliest}”`), ".") : "";
    about.replaceChildren(...[`${kind[0].toUpperCase()}${kind.slice(1)} `, make("b", {}, make("bdi", {}, `“${name}”`)), numbers && ` with ${numbers}.`, other].filter(Boolean));
  }

  /** The part of a value in the largest one, as the style sheet reads it. */
  function shade(mark, value, most) {
    mark.classList.toggle("takes", value < 0);
    mark.style.setProperty("--share", most > 0 ? String(Math.abs(value) / most) : "0");
    return mark;
  }

  function show(number) {
    const now = explanations[number];
    if (!now.parts.some(([name]) => name === part)) part = "combined";
    controls(number);
    outputLine(now);
    const [values, pieces] = [relevanceOf(number), piecesOf(number)];
    const [most, mostPosition] = [mostOf(values[part]), mostOf(values.position)];
    walked = -1;
    text.setAttribute("dir", now.dir);
    text.setAttribute("aria-label", `The text, shaded by relevance for ${now.name}. Arrow keys walk through its tokens.`);
    text.replaceChildren(...pieces.text.flatMap((word, slot) => {
      const mark = make("span", { class: `tok${slot === now.slot ? " filled" : ""}`, "data-slot": String(slot) }, make("bdi", {}, word));
      if (mostPosition > 0) mark.append(shade(make("i"), values.position[slot], mostPosition));
      return [pieces.spaced[slot] ? " " : "", shade(mark, values[part][slot], most), word.endsWith("↵") ? make("br") : ""].filter((piece) => piece !== "");
    }), ...(now.slot === null ? [make("span", { class: "then", "aria-hidden": "true" }, "→"), make("bdi", { class: "said" }, now.name)] : []));
    const named = { combined: "relevance", token: "relevance of tokens", position: "relevance of positions" }[part];
    scales.replaceChildren(scaleOf(named, most, "tall"), mostPosition > 0 ? scaleOf("line below: position", mostPosition, "thin") : "");
  }

  function scaleOf(words, most, look) {
    return make("div", { class: "scale" }, make("span", {}, `−${short(most)}`), make("i", { class: look }), make("span", {}, `+${short(most)}`), make("span", { class: "dim" }, words));
  }

  const cardOf = (slot) => {
    const { number } = choiceOf;
    const [values, now] = [relevanceOf(number), explanations[number]];
    const lines = now.parts.map(([name, words]) => [words === "combined" && now.parts.length < 2 ? "relevance" : words.replace(/s$/, ""), signed(values[name][slot])]);
    if (now.shares && now.logit) lines.push(["of the logit", `${short((100 * values.combined[slot]) / now.logit, 1)} %`]);
    const grid = lines.flatMap(([name, said]) => [make("span", { class: "dim" }, name), make("span", {}, said)]);
    return [make("div", {}, make("b", {}, make("bdi", {}, piecesOf(number).text[slot])), make("span", { class: "dim" }, ` slot ${slot}`)), make("div", { class: "grid" }, ...grid)];
  };

  function cardAt(mark, place) {
    text.querySelector(".walked")?.classList.remove("walked");
    const box = make("div", {}, ...(mark ? cardOf(Number(mark.dataset.slot)) : []));
    showTip(undefined, place, mark ? { datum: { tip: box } } : undefined, true);
    return box.textContent;
  }

  text.addEventListener("pointermove", (event) => cardAt(event.target.closest(".tok"), event));
  text.addEventListener("pointerleave", (event) => cardAt(null, event));
  text.addEventListener("blur", (event) => cardAt(null, event));
  text.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (!way) return;
    event.preventDefault();
    const marks = text.querySelectorAll(".tok");
    walked = Math.min(Math.max(walked + way, 0), marks.length - 1);
    const { left, bottom } = marks[walked].getBoundingClientRect();
    document.getElementById("live").textContent = cardAt(marks[walked], { clientX: left - 16, clientY: bottom - 8 });
    marks[walked].classList.add("walked");
  });
  return follow(show);
};

/** The numbers of the explanation that is shown, token by token. */
widgets["explained-table"] = (element) => follow((number) => {
  const [values, pieces, now] = [relevanceOf(number), piecesOf(number), explanations[number]];
  const cell = (value) => make("td", { "data-exact": String(value) }, signed(value));
  const share = (value) => make("td", { "data-exact": String(value) }, `${short(100 * value, 1)} %`);
  const names = [...now.parts].reverse().map(([name, words]) => [name, now.parts.length < 2 ? "relevance" : words]);
  const headings = ["token", "slot", ...names.map(([, words]) => words), ...(now.shares && now.logit ? ["share of the logit"] : [])];
  const rows = pieces.text.map((word, slot) => make("tr", {}, make("th", { scope: "row" }, make("bdi", {}, word)), make("td", { "data-exact": String(slot) }, String(slot)),
    ...names.map(([name]) => cell(values[name][slot])), ...(now.shares && now.logit ? [share(values.combined[slot] / now.logit)] : [])));
  const caption = make("caption", { class: "unseen" }, `Relevance for ${now.name} by ${now.method}`);
  const table = make("table", { "data-csv": "yes" }, caption, make("thead", {}, make("tr", {}, ...headings.map((words) => make("th", { scope: "col" }, words)))), make("tbody", {}, ...rows));
  const holder = make("div", {}, make("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Every token" }, table));
  const file = make("p", { class: "csv-line" }, csvButton(() => table.caption.textContent, () => csvOfTable(table)));
  element.replaceChildren(holder, file);
  widgets.sortable(holder);
});
