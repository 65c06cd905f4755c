// The report's behaviour: sort every table, filter the one of all results, draw the charts, open what a link points into.
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
    const rate = ["GFLOP/s", "GB/s"].includes(button.textContent); // of rates the largest first
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

// The table and all its rows, which are read when they are first asked for.
let read;
function everything() {
  if (read) return read;
  const template = make("template");
  template.innerHTML = byId("rows").textContent;
  const rows = [...template.content.querySelector("tbody").rows];
  fillSpans(rows, 3);
  return read = {template, rows};
}

function results(controls) {
  const {template, rows: all} = everything(), table = template.content.querySelector("table"), body = table.tBodies[0];
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

// ---- charts -------------------------------------------------------------------------------------

const wide = ["first", "rates", "limit"]; // charts that need the page's whole width
const marks = 4000; // that SVG draws swiftly; more go to a canvas
// On a phone a row's name stands above its marks, for which it is made higher.
const narrow = 600, higher = {first: 1, rates: 1.6, limit: 2};
const above = {labelAlign: "left", labelPadding: -2, labelOffset: -13, labelLimit: 300, labelFontSize: 11, ticks: false};
const dark = matchMedia("(prefers-color-scheme: dark)");

function looks(name, width) {
  const of = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const columns = Math.max(2, Math.floor(width / 170));
  const ink = of("--ink"), soft = of("--soft"), line = of("--line");
  return {background: "transparent", font: "system-ui, sans-serif",
    axis: {labelColor: ink, titleColor: soft, gridColor: line, domainColor: line, tickColor: line,
      labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal"},
    axisY: wide.includes(name) && width < narrow ? above : {labelLimit: 260},
    legend: {labelColor: ink, titleColor: soft, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal",
      columns, labelLimit: Math.max(90, (width - 50) / columns - 24)},
    text: {color: ink}, tick: {color: ink}, rule: {color: soft}, line: {color: soft}};
}

// The data of a script, in which parts that occur several times stand once.
function parsed(text) {
  const {all, parts} = JSON.parse(text);
  const whole = (value) => typeof value !== "object" || value === null ? value
    : Array.isArray(value) ? value.map(whole)
    : "part" in value ? parts[value.part]
    : Object.fromEntries(Object.entries(value).map(([name, member]) => [name, whole(member)]));
  parts.forEach((part, k) => { parts[k] = whole(part); });
  return whole(all);
}

// What the charts know of a kernel on a matrix from its row in the table of all results.
function shown(row) {
  const [, matrix, kernel, config, , time, , gflops, gbs] = [...row.cells].map((cell) => cell.textContent);
  return {matrix, kernel, config: config || "-", time, gflops: Number(gflops) || null, gbs: Number(gbs) || null};
}

// {name: values} as objects again; values may be places in a list of words. Steps lead from row to row.
function points(columns) {
  const names = Object.keys(columns), found = [];
  const all = names.map((name) => {
    const {words, at} = columns[name];
    return words ? at.map((k) => words[k]) : columns[name];
  });
  for (let k = 0; names.length && k < all[0].length; k++)
    found.push(Object.fromEntries(names.map((name, n) => [name, all[n][k]])));
  let row = 0;
  for (const point of found) if ("step" in point) Object.assign(point, shown(everything().rows[row += point.step]));
  return found;
}

async function draw(place, system) {
  const data = system.points ??= Object.fromEntries(
    Object.entries(system.data).map(([name, columns]) => [name, points(columns)]));
  const many = Object.values(data).some((found) => found.length > marks);
  place.replaceChildren();
  for (const chart of system.charts) {
    const picture = make("div", {class: "vega", role: "img", "aria-label": chart.title});
    place.append(make("article", {class: "chart" + (wide.includes(chart.name) ? " full" : ""),
      id: "chart-" + chart.name}, make("h3", {}, chart.title), make("p", {}, chart.text), picture));
    const width = picture.clientWidth, height = chart.spec.height * (width < narrow ? higher[chart.name] ?? 1 : 1);
    await window.vegaEmbed(picture, {...chart.spec, height, datasets: data}, {config: looks(chart.name, width),
      renderer: many ? "canvas" : "svg", tooltip: {theme: dark.matches ? "dark" : "light"},
      actions: {export: true, source: false, compiled: false, editor: false},
      downloadFileName: "spmv-" + chart.name});
  }
  place.dataset.drawn = system.name;
}

// Charts from a script's data, with a choice of systems.
async function charts(data, place, controls, label) {
  const systems = parsed(data.textContent);
  const pick = make("select", {id: "of-" + place.id, "aria-label": label},
    ...systems.map((system, k) => make("option", {value: k}, system.name)));
  const again = () => draw(place, systems[pick.value]);
  pick.addEventListener("input", again);
  dark.addEventListener("change", again);
  controls.append(label, pick);
  controls.hidden = systems.length < 2;
  await again();
}

// ---- folded parts -------------------------------------------------------------------------------

const opened = {
  all: () => results(byId("controls")),
  "more-charts": () => charts(byId("data"), byId("charts"), byId("pick"), "Charts of"),
};
for (const [id, fill] of Object.entries(opened)) {
  const part = byId(id);
  if (part?.open) fill();
  else part?.addEventListener("toggle", fill, {once: true});
}

function follow() {
  const target = location.hash && byId(location.hash.slice(1));
  for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", follow);
follow();

if (byId("first")) await charts(byId("first"), byId("first-chart"), byId("pick-first"), "Chart of");
