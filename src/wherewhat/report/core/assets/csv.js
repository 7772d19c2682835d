// Every table as a file: numbers as exactly as the page has them, and nothing that a spreadsheet would run.
const plainNumber = /^-?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/** One field after RFC 4180. Text that a spreadsheet would read as a formula begins with an apostrophe. */
function csvField(given) {
  const text = given === null || given === undefined ? "" : String(given);
  const safe = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/.test(text) && !plainNumber.test(text) ? `'${text}` : text;
  return /[",\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const csvOf = (rows) => rows.map((row) => `${row.map(csvField).join(",")}\r\n`).join("");

/** A number as a reader sees it, as a program reads it: no thousands, a plain minus, nothing for a dash. */
function plainText(shown) {
  const text = shown.replace(/\s+/g, " ").trim();
  if (text === "–") return "";
  const bare = text.replace("−", "-").replace(/^\+/, "").replace(/(?<=\d),(?=\d{3}(\D|$))/g, "");
  return plainNumber.test(bare) ? bare : text;
}

/** What a cell holds: its exact numbers where the page has them, two for an interval, else its words. */
const heldBy = (cell) => cell.dataset.exact?.split(" ").map((number) => (number === "-" ? "" : number)) ?? [plainText(cell.textContent)];

/** The rows of a table with every cell in its column, however wide it is drawn. */
function gridOf(lines) {
  return lines.map((line) => [...line.cells].filter((cell) => !cell.hidden).flatMap((cell) => [cell, ...Array(cell.colSpan - 1).fill(cell)]));
}

function csvOfTable(table) {
  const head = gridOf([...(table.tHead?.rows ?? [])]);
  const body = gridOf([...table.tBodies, ...(table.tFoot ? [table.tFoot] : [])].flatMap((part) => [...part.rows]).filter((row) => !row.hidden));
  const width = Math.max(...[...head, ...body].map((row) => row.length));
  const columns = [...Array(width).keys()];
  const many = columns.map((at) => Math.max(1, ...body.map((row) => (row[at] ? heldBy(row[at]).length : 1))));
  const title = (at) => [...new Set(head.map((row) => (row[at]?.title || row[at]?.textContent || "").trim()).filter(Boolean))].join(", ");
  const names = columns.flatMap((at) => (many[at] === 2 ? [`${title(at)} low`.trim(), `${title(at)} high`.trim()] : [title(at)]));
  const line = (row) => columns.flatMap((at) => {
    const held = row[at] && row[at] !== row[at - 1] ? heldBy(row[at]) : []; // what spans columns stands in the first
    return [...held, ...Array(many[at] - Math.min(held.length, many[at])).fill("")];
  });
  return csvOf([names, ...body.map(line)]);
}

/** A file name of what the page and its table are called. */
const fileName = (...words) => `${words.filter(Boolean).join(" ").replace(/[^\p{L}\p{N}._]+/gu, "-").replace(/^[-.]+|[-.]+$/g, "").slice(0, 100)}.csv`;

function saveCsv(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A button that saves a file made at that moment; `what` names the table. */
function csvButton(what, made) {
  const press = () => saveCsv(fileName(document.querySelector("h1").textContent, what()), made());
  return make("button", { type: "button", class: "plain csv", "aria-label": `Download ${what()} as CSV`, onclick: press }, "CSV ↓");
}

/** What a table is called: its caption, or the nearest heading above it after that of its section. */
function tableName(table) {
  if (table.caption) return table.caption.textContent;
  const section = table.closest("section[id]") ?? document.body;
  const above = [...section.querySelectorAll("h2, h3, h4, summary")].filter((one) => one.compareDocumentPosition(table) & Node.DOCUMENT_POSITION_FOLLOWING);
  return [...new Set([above[0], above.at(-1)])].map((one) => one?.textContent ?? "").join(" ").trim() || "table";
}

/** Every table that has no such button yet gets one below it. */
function offerFiles() {
  document.querySelectorAll("table:not([data-csv])").forEach((table) => {
    table.dataset.csv = "yes";
    const holder = table.closest(".scroller, .numbers, [data-widget]") ?? table;
    const now = () => (holder === table ? table : holder.querySelector("table")); // it may have been made anew
    holder.after(make("p", { class: "csv-line" }, csvButton(() => tableName(now()), () => csvOfTable(now()))));
  });
}
