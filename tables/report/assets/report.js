// The report's behaviour: sort every table, filter the one of all results, open what a link points into.
const make = (tag, attributes = {}, ...content) => {
  const node = document.createElement(tag);
  Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
  node.append(...content);
  return node;
};
const byId = (id) => document.getElementById(id);

// ---- tables -------------------------------------------------------------------------------------

const collator = new Intl.Collator("en", {numeric: true});
const units = {ns: 1e-9, "µs": 1e-6, ms: 1e-3, s: 1, "%": 0.01};

// What a cell sorts by: the number that it begins with, in its unit; nothing sorts last.
function key(cell, numeric) {
  const text = cell?.textContent.trim() ?? "";
  if (!numeric) return text || undefined;
  const found = text.match(/^([−+-]?[\d,]*\.?\d+)\s*(ns|µs|ms|s|%)?(?!\w)/);
  return found ? Number(found[1].replace("−", "-").replaceAll(",", "")) * (units[found[2]] ?? 1) : undefined;
}

// The cell under a head: a row without a time has one wide cell, after which columns stand elsewhere.
function under(row, column) {
  for (const cell of row.cells) {
    column -= cell.colSpan;
    if (column < 0) return cell.colSpan > 1 ? undefined : cell;
  }
}

// Buttons in the heads of a table; show is told the rows in their new order.
function sortable(table, rows, show) {
  const heads = [...table.tHead.rows[0].cells];
  function sort(column, direction) {
    const numeric = heads[column].classList.contains("n");
    const keys = new Map(rows.map((row) => [row, key(under(row, column), numeric)]));
    show([...rows].sort((a, b) => {
      const x = keys.get(a), y = keys.get(b);
      if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
      return direction * (numeric ? x - y : collator.compare(x, y));
    }));
    heads.forEach((head, k) =>
      k === column ? head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending")
                   : head.removeAttribute("aria-sort"));
  }
  heads.forEach((head, column) => {
    const button = make("button", {type: "button"}, ...head.childNodes);
    const rate = ["GFLOP/s", "GB/s"].includes(button.textContent); // rates are sorted largest first
    button.addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      sort(column, now === "ascending" ? -1 : now === "descending" ? 1 : rate ? -1 : 1);
    });
    head.replaceChildren(button);
  });
}

document.querySelectorAll(".wide table").forEach((table) =>
  sortable(table, [...table.tBodies[0].rows], (rows) => table.tBodies[0].append(...rows)));

// Cells of the first columns that span rows, once in each of these.
function fillSpans(rows, columns) {
  for (let column = 0; column < columns; column++)
    rows.forEach((row, k) => {
      const cell = row.cells[column], many = cell.rowSpan;
      cell.removeAttribute("rowspan");
      for (const below of rows.slice(k + 1, k + many)) below.insertBefore(cell.cloneNode(true), below.cells[column]);
    });
}

// The table of all results, of which so many rows are shown at once.
const most = 200;

// Its rows are read when it is opened.
function results(controls) {
  const template = make("template");
  template.innerHTML = byId("rows").textContent;
  const table = template.content.querySelector("table"), body = table.tBodies[0], all = [...body.rows];
  fillSpans(all, 3);
  const words = new Map(all.map((row) => [row, row.textContent.toLowerCase()]));
  const statusOf = (row) => row.cells[4].textContent.replace(/ \*$/, "");
  let rows = all, limit = most;

  const search = make("input", {type: "search", id: "search", "aria-label": "filter",
    placeholder: "filter: words that a row must contain"});
  const choice = (id, label, first, of) => {
    const select = make("select", {id, "aria-label": label}, make("option", {value: ""}, first));
    [...new Set(all.map(of))].sort(collator.compare)
      .forEach((value) => select.append(make("option", {value}, value)));
    return select;
  };
  const system = choice("by-system", "system", "all systems", (row) => row.cells[0].textContent);
  const status = choice("by-status", "status", "any status", statusOf);
  const count = make("span", {id: "count", role: "status"});
  const more = make("button", {type: "button", id: "more"}, `Show ${most} more`);

  // A row's last cell has the number of its command; a link in each of thousands of rows would be a third of a megabyte.
  function linked(row) {
    const cell = row.cells[row.cells.length - 1], number = cell.textContent;
    if (number && !cell.firstElementChild) cell.replaceChildren(make("a", {href: "#c" + number}, number));
    return row;
  }

  function show() {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fit = rows.filter((row) => wanted.every((word) => words.get(row).includes(word)) &&
      (!system.value || row.cells[0].textContent === system.value) && (!status.value || statusOf(row) === status.value));
    body.replaceChildren(...fit.slice(0, limit).map(linked));
    more.hidden = fit.length <= limit;
    const number = (value) => value.toLocaleString("en");
    count.textContent = `${number(fit.length)} of ${number(all.length)} rows` + (more.hidden ? "" : `, the first ${number(limit)} shown`);
  }

  [search, system, status].forEach((control) => control.addEventListener("input", () => { limit = most; show(); }));
  more.addEventListener("click", () => { limit += most; show(); });
  sortable(table, all, (sorted) => { rows = sorted; show(); });
  controls.append(search, system, status, count);
  controls.hidden = false;
  controls.after(template.content, more);
  show();
}

// Every command in one list by its number, with the name of its matrix where many share a line.
function commands(place) {
  for (const list of place.querySelectorAll("p:has(code) + ol")) {
    const form = list.previousElementSibling.querySelector("code").textContent;
    for (const line of list.children)
      line.replaceChildren(make("code", {}, form.replace(" -m MATRIX", () => " -m " + line.textContent)));
  }
  const lines = [...place.querySelectorAll("li")].sort((a, b) => a.id.slice(1) - b.id.slice(1));
  lines.forEach((line) => line.removeAttribute("value"));
  place.replaceChildren(make("ol", {class: "commands"}, ...lines));
}
if (byId("lines")) commands(byId("lines"));

// ---- folded parts -------------------------------------------------------------------------------

byId("all")?.addEventListener("toggle", () => results(byId("controls")), {once: true});

function follow() {
  const target = location.hash && byId(location.hash.slice(1));
  for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", follow);
follow();
