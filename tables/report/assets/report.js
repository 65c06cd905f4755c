// The report's behaviour: sort and filter the table of everything, draw the charts of a system.
const make = (tag, attributes = {}, ...content) => {
  const node = document.createElement(tag);
  Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
  node.append(...content);
  return node;
};

// ---- the table ----------------------------------------------------------------------------------

function enliven(table, controls) {
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  // A row without a time has one wide cell: the columns after it stand elsewhere.
  const cells = rows.map((row) => {
    const found = [];
    for (const cell of row.cells) for (let k = 0; k < cell.colSpan; k++) found.push(cell);
    return found;
  });
  const words = rows.map((row) => [...row.cells].map((cell) => cell.textContent).join("\n").toLowerCase());
  const key = (k, column) => {
    const cell = cells[k][column], text = cell.textContent;
    if (cell.hasAttribute("v")) return Number(cell.getAttribute("v"));
    if (cell.colSpan > 1 || text === "") return undefined; // last, whichever way
    return heads[column].classList.contains("n") ? Number(text) : text;
  };
  const collator = new Intl.Collator("en", {numeric: true});

  function sort(column, direction) {
    const keys = rows.map((_, k) => key(k, column));
    const places = rows.map((_, k) => k).sort((a, b) => {
      const x = keys[a], y = keys[b];
      if (x === undefined || y === undefined) return (x === undefined) - (y === undefined) || a - b;
      const found = typeof x === "number" ? x - y : collator.compare(x, y);
      return direction * found || a - b;
    });
    body.append(...places.map((k) => rows[k]));
    heads.forEach((head, k) =>
      k === column ? head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending")
                   : head.removeAttribute("aria-sort"));
  }

  heads.forEach((head, column) => {
    const button = make("button", {type: "button"}, head.textContent);
    const rate = ["GFLOP/s", "GB/s"].includes(head.textContent); // of rates the largest first
    button.addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      sort(column, now === "ascending" ? -1 : now === "descending" ? 1 : rate ? -1 : 1);
    });
    head.replaceChildren(button);
  });

  const search = make("input", {type: "search", id: "search", "aria-label": "filter",
    placeholder: "filter: words that a row must contain"});
  const choice = (id, column, first) => {
    const values = [...new Set(cells.map((row) => row[column].textContent.replace(/ \*$/, "")))];
    const select = make("select", {id, "aria-label": id}, make("option", {value: ""}, first));
    values.sort(collator.compare).forEach((value) => select.append(make("option", {value}, value)));
    return select;
  };
  const system = choice("by-system", 0, "all systems"), status = choice("by-status", 4, "any status");
  const count = make("span", {id: "count", role: "status"});

  function filter() {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, k) => {
      const fits = wanted.every((word) => words[k].includes(word)) &&
        (!system.value || cells[k][0].textContent === system.value) &&
        (!status.value || cells[k][4].textContent.replace(/ \*$/, "") === status.value);
      row.hidden = !fits;
      shown += fits;
    });
    count.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
  }

  [search, system, status].forEach((control) => control.addEventListener("input", filter));
  controls.append(search, system, status, count);
  controls.hidden = false;
  filter();
}

enliven(document.getElementById("results"), document.getElementById("controls"));

// ---- the charts ---------------------------------------------------------------------------------

const wide = ["rates", "speedup", "limit"]; // charts that need the page's whole width
const most = 4000; // marks that SVG draws swiftly; more go to a canvas
const dark = matchMedia("(prefers-color-scheme: dark)");

function colours() {
  const of = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const ink = of("--ink"), soft = of("--soft"), line = of("--line");
  return {background: "transparent", font: "system-ui, sans-serif",
    axis: {labelColor: ink, titleColor: soft, gridColor: line, domainColor: line, tickColor: line,
      gridOpacity: 0.6, titleFontWeight: "normal"},
    legend: {labelColor: ink, titleColor: soft, titleFontWeight: "normal", symbolLimit: 40},
    text: {color: ink}, rule: {color: soft}, line: {color: soft}, view: {stroke: null}};
}

async function draw(place, system) {
  const data = system.points ??= Object.fromEntries(
    Object.entries(system.data).map(([name, columns]) => [name, points(columns)]));
  place.replaceChildren();
  for (const chart of system.charts) {
    const picture = make("div", {class: "vega", role: "img", "aria-label": chart.title});
    place.append(make("article", {class: "chart" + (wide.includes(chart.name) ? " full" : ""),
      id: "chart-" + chart.name}, make("h3", {}, chart.title), make("p", {}, chart.text), picture));
    const spec = {...chart.spec, datasets: data};
    await window.vegaEmbed(picture, spec, {config: colours(), renderer:
      data.cells.length > most ? "canvas" : "svg", actions: {export: true, source: false,
      compiled: false, editor: false}, downloadFileName: "spmv-" + chart.name});
  }
  place.dataset.drawn = system.name;
}

// {name: values} as objects again; values may be places in a list of words.
function points(columns) {
  const names = Object.keys(columns), found = [];
  const all = names.map((name) => {
    const {words, at} = columns[name];
    return words ? at.map((k) => words[k]) : columns[name];
  });
  for (let k = 0; names.length && k < all[0].length; k++)
    found.push(Object.fromEntries(names.map((name, n) => [name, all[n][k]])));
  return found;
}

const data = document.getElementById("data");
if (data) {
  const systems = JSON.parse(data.textContent), place = document.getElementById("charts");
  const pick = make("select", {id: "system", "aria-label": "system"},
    ...systems.map((system, k) => make("option", {value: k}, system.name)));
  const again = () => draw(place, systems[pick.value]);
  pick.addEventListener("input", again);
  dark.addEventListener("change", again);
  document.getElementById("pick").append("Charts of", pick);
  document.getElementById("pick").hidden = systems.length < 2;
  await again();
}

// On paper nothing can be opened.
addEventListener("beforeprint", () => document.querySelectorAll("main details:not(.vega-embed details)")
  .forEach((part) => { part.open = true; }));
