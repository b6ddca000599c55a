"use strict";
// Adds to the static page: sorting by the headings of tables, one filter by method for tables and figures, and the
// values in figures by keys and by touch (under a pointer the browser shows them itself).
(() => {
  const NEXT = { none: "ascending", ascending: "descending", descending: "none" };
  const NUMBER = /^[±<\s]*(-?[\d,]*\.?\d+(?:e[-+]?\d+)?)(?=$|[\s\[%†])/i;
  const collator = new Intl.Collator("en", { numeric: true });

  function read(row, column) {
    const text = (row.cells[column]?.textContent ?? "").trim();
    if (["", "–", "no result"].includes(text)) return null;
    const number = text.replace("−", "-").match(NUMBER);
    return { text, number: number ? parseFloat(number[1].replaceAll(",", "")) : NaN };
  }

  // What is missing comes last in both directions.
  function compare(left, right, sign) {
    if (!left || !right) return Number(!left) - Number(!right);
    const numbers = !Number.isNaN(left.number) && !Number.isNaN(right.number);
    return sign * (numbers ? left.number - right.number : collator.compare(left.text, right.text));
  }

  function sort(table, column, direction) {
    for (const body of table.tBodies) {
      const heading = [...body.rows].filter((row) => row.querySelector("th[scope=rowgroup]"));
      const rows = [...body.rows].filter((row) => !heading.includes(row));
      rows.forEach((row, place) => (row.place ??= place));
      const sign = direction === "descending" ? -1 : 1;
      const keyed = rows.map((row) => ({ row, key: direction === "none" ? null : read(row, column) }));
      keyed.sort((a, b) => compare(a.key, b.key, sign) || a.row.place - b.row.place);
      body.append(...heading, ...keyed.map((one) => one.row));
    }
  }

  function makeSortable(table) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const direction = NEXT[heading.getAttribute("aria-sort") ?? "none"];
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        if (direction !== "none") heading.setAttribute("aria-sort", direction);
        sort(table, column, direction);
      });
    });
  }

  function makeFilter(box) {
    const input = box.querySelector("input");
    const status = box.querySelector("[role=status]");
    const marked = [...document.querySelectorAll("[data-method]")].map((element) => ({
      element,
      name: element.dataset.method.toLowerCase(),
      inChart: element.closest("svg") !== null,
      isRow: element.matches("tr"),
    }));
    const names = new Set(marked.filter((one) => one.isRow).map((one) => one.element.dataset.method));
    box.querySelector("datalist").append(...[...names].sort(collator.compare).map((name) => new Option(name, name)));
    const rows = marked.filter((one) => one.isRow);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/[\s,]+/).filter(Boolean);
      for (const one of marked) {
        one.out = words.length > 0 && !words.some((word) => one.name.includes(word));
        if (one.inChart) one.element.classList.toggle("dim", one.out);
        else one.element.hidden = one.out;
      }
      const shown = rows.filter((one) => !one.out).length;
      status.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
    });
    box.hidden = false;
  }

  function makeReadable(chart) {
    const marks = [...chart.querySelectorAll("[data-method]:has(> title)")];
    if (!marks.length) return;
    const said = document.createElement("p");
    said.className = "said";
    said.setAttribute("aria-live", "polite");
    chart.after(said);
    chart.setAttribute("aria-label", `${chart.getAttribute("aria-label")} Arrow keys read its values.`);
    let chosen = null;
    function choose(mark) {
      chosen?.classList.remove("chosen");
      chosen = mark ?? null;
      chosen?.classList.add("chosen");
      said.textContent = chosen?.querySelector("title").textContent ?? "";
    }
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const shown = marks.filter((mark) => !mark.matches(".dim"));
      if (!step || !shown.length) return;
      event.preventDefault();
      const place = shown.indexOf(chosen);
      choose(shown.at(place < 0 && step < 0 ? -1 : (place + step) % shown.length));
    });
    chart.addEventListener("click", (event) => choose(event.target.closest("[data-method]")));
    chart.addEventListener("blur", () => choose(null));
  }

  for (const chart of document.querySelectorAll("figure > [role=img]")) makeReadable(chart);
  for (const table of document.querySelectorAll("table:not(.matrix, .confusion)")) {
    if ([...table.tBodies].some((body) => body.rows.length > 1)) makeSortable(table);
  }
  makeFilter(document.querySelector("[role=search]"));
})();
