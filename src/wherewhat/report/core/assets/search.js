// What is typed into the search of the table: words that name heads, and comparisons such as "induction > .3".
const comparing = {
  ">": (a, b) => a > b, "<": (a, b) => a < b, ">=": (a, b) => a >= b, "<=": (a, b) => a <= b, "=": (a, b) => a === b, "!=": (a, b) => a !== b,
};
const spelled = { "==": "=", "≥": ">=", "≤": "<=", "≠": "!=", "=>": ">=", "=<": "<=" };
const comparisons = /([^\s,<>=!≥≤≠]*)\s*([<>=!≥≤≠]+)\s*([^\s,<>=!≥≤≠]*)/g;

/** Tests that a head must pass, the scores they name, and what is wrong with the words, if anything is. */
function readSearch(typed) {
  const tests = [];
  const named = new Set();
  let problem = "";
  const rest = typed.replace(comparisons, (_, name, sign, number) => {
    const read = readComparison(name, sign, number);
    if (read.problem) problem ||= read.problem;
    else tests.push(read.test);
    if (read.score) named.add(read.score);
    return " ";
  });
  const joined = typed !== rest; // only beside a comparison is "and" a word of its own
  const words = rest.toLowerCase().replace(/\b(layer|head)\s+(\d+)/g, "$1_$2").split(joined ? /[\s,;&]+/ : /\s+/).filter((word) => word && !(joined && word === "and"));
  if (joined && words.includes("or")) problem ||= "“or” is not understood: all conditions must hold.";
  const stray = joined ? words.find((word) => findScore(word)) : undefined;
  if (stray) problem ||= `“${stray}” is compared with nothing: write ${stray} > 0.3.`;
  tests.push(...words.map((word) => (head) => matchesWord(head, word)));
  return { tests, named, problem };
}

function readComparison(name, sign, number) {
  const asked = `${name} ${sign} ${number}`.trim();
  const compare = comparing[spelled[sign] ?? sign];
  if (!compare) return { problem: `“${sign}” is no comparison: use >, <, >=, <=, = or !=.` };
  if (!name) return { problem: `“${asked}” needs a score before ${sign}, such as induction ${sign} 0.3.` };
  const place = ["layer", "head"].find((own) => own === name.toLowerCase());
  const score = place ? undefined : findScore(name);
  if (!place && !score) return { problem: unknownScore(name) };
  const chosen = place ? (head) => head[place] : (head) => value(head, score);
  if (score && number.toLowerCase() === "chance") {
    return { score, test: (head) => chosen(head) !== null && chance(head, score) !== null && compare(chosen(head), chance(head, score)) };
  }
  const against = Number(number.replace("−", "-").replace(/%$/, "")) / (number.endsWith("%") ? 100 : 1);
  if (number === "" || !Number.isFinite(against)) return { score, problem: `“${asked}” needs a number after ${sign}${score ? ", or chance" : ""}.` };
  return { score, test: (head) => chosen(head) !== null && compare(chosen(head), against) };
}

const findScore = (name) => scores.find((score) => score.name.toLowerCase() === name.toLowerCase());

function unknownScore(name) {
  const asked = name.toLowerCase();
  const near = scores.map((score) => score.name).filter((known) => alike(asked, known.toLowerCase()));
  return `No score is called “${name}”${near.length ? `; did you mean ${near.slice(0, 3).join(" or ")}?` : "; the headings of the table name them all."}`;
}

/** Whether one name begins or holds the other, or they differ by two letters at the most. */
function alike(asked, known) {
  if (known.includes(asked) || (asked.includes(known) && known.length > 2)) return true;
  let row = [...Array(known.length + 1).keys()];
  [...asked].forEach((letter, at) => {
    const next = [at + 1];
    [...known].forEach((other, to) => next.push(Math.min(row[to] + (letter !== other), row[to + 1] + 1, next[to] + 1)));
    row = next;
  });
  return row.at(-1) <= 2;
}

function matchesWord(head, word) {
  const [, kind, number] = word.match(/^(layer|head)_(\d+)$/) ?? [];
  if (kind) return kind === "layer" ? head.name.includes(`L${number}H`) : head.head === Number(number);
  const layer = word.match(/^l(\d+)$/);
  return layer ? head.name.includes(`L${Number(layer[1])}H`) : `${head.name} layer ${head.layer} head ${head.head} ${head.part}`.toLowerCase().includes(word);
}
