"use strict";
// Adds to the static page: sorting, a choice of columns, CSV of each table, copying of commands, one filter by method
// for tables and figures, and the values in figures by keys and by touch.
(() => {
  const NEXT = { none: "ascending", ascending: "descending", descending: "none" };
  const NUMBER = /^[±<\s]*(-?[\d,]*\.?\d+(?:e[-+]?\d+)?)(?=$|[\s\[%†◆=])/i;
  const LARGEST = {{ largest_ratio }};
  const collator = new Intl.Collator("en", { numeric: true });

  function make(tag, properties) {
    return Object.assign(document.createElement(tag), properties);
  }

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
      const heading = [...body.rows].filter((row) => row.matches(".group"));
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
      const button = make("button", { type: "button", className: "sort" });
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

  // On narrow screens a row is a card, whose cells are named by their headings.
  function makeCards(table) {
    const headings = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
    for (const row of table.tBodies[0].rows.length ? [...table.tBodies].flatMap((body) => [...body.rows]) : []) {
      if (!row.matches(".group")) [...row.cells].forEach((cell, place) => (cell.dataset.label = headings[place]));
    }
  }

  function csv(table) {
    const seen = (cell) => !cell.hidden && cell.getClientRects().length > 0;
    // Spreadsheets run text that begins so as a formula.
    const inert = (text) => text.replace(/^(?=[=+@]|-(?![\d.]))/, "'");
    const quoted = (cell) => `"${inert(cell.textContent.trim().replace(/\s+/g, " ")).replaceAll('"', '""')}"`;
    const rows = [...table.rows].filter((row) => !row.hidden && !row.matches(".group"));
    return rows.map((row) => [...row.cells].filter(seen).map(quoted).join(",")).join("\n") + "\n";
  }

  function makeTools(table) {
    const tools = make("p", { className: "tools" });
    const extra = [...table.tHead.rows[0].cells].filter((cell) => cell.matches(".extra"));
    if (extra.length) {
      const box = make("details", { className: "columns" });
      box.append(make("summary", { textContent: "Columns" }));
      const choose = (heading) => {
        const label = make("label");
        const tick = make("input", { type: "checkbox" });
        label.append(tick, ` ${heading.textContent}`);
        const column = heading.cellIndex;
        tick.addEventListener("change", () => {
          for (const row of table.rows) if (!row.matches(".group")) row.cells[column].classList.toggle("shown", tick.checked);
        });
        return label;
      };
      box.addEventListener("toggle", () => box.append(...extra.map(choose)), { once: true });
      tools.append(box);
    }
    const save = make("button", { type: "button", textContent: "Save as CSV" });
    save.addEventListener("click", () => {
      const link = make("a", { download: `${table.dataset.name}.csv` });
      link.href = URL.createObjectURL(new Blob([csv(table)], { type: "text/csv" }));
      link.click();
      URL.revokeObjectURL(link.href);
    });
    tools.append(save);
    table.parentElement.after(tools);
  }

  function makeCopyable(cell) {
    const button = make("button", { type: "button", className: "copy", title: "Copy this command", textContent: cell.textContent });
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(button.textContent);
      } catch {
        getSelection().selectAllChildren(button);
        document.execCommand("copy");
      }
      button.classList.add("copied");
      setTimeout(() => button.classList.remove("copied"), 1500);
    });
    cell.replaceChildren(button);
  }

  // Ranks, their bootstrap intervals over datasets, and ratios to the best of the rows that are shown.
  function rankAgain(table) {
    const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden);
    if (!rows.length) return;
    const errors = rows.map((row) => [...row.querySelectorAll("[data-error]")].map((cell) => parseFloat(cell.dataset.error === "inf" ? "Infinity" : cell.dataset.error)));
    const n = errors[0].length;
    const ranks = rows.map(() => new Array(n));
    for (let place = 0; place < n; place++) {
      const column = errors.map((own) => own[place]);
      const positive = column.filter((error) => error > 0 && error < Infinity);
      const half = positive.length ? Math.min(...positive) / 2 : 1;
      const least = Math.min(...column.map((error) => (error > 0 ? error : half)));
      column.forEach((error, row) => {
        const below = column.filter((other) => other < error).length;
        const equal = column.filter((other) => other === error).length;
        ranks[row][place] = below + (equal + 1) / 2;
        const cell = rows[row].querySelectorAll("[data-error]")[place];
        const ratio = (error > 0 ? error : half) / least;
        cell.textContent = !Number.isFinite(ratio) ? "failed" : column.some((one) => one < 0) ? "–" : ratio.toFixed(2);
        cell.style.setProperty("--share", Math.min(1, Math.max(0, Math.log(ratio) / Math.log(LARGEST))).toFixed(2));
      });
    }
    let state = 1;
    const draw = () => (state = (state * 48271) % 2147483647) / 2147483647;
    const resamples = Array.from({ length: 1000 }, () => Array.from({ length: n }, () => Math.floor(draw() * n)));
    const lines = rows.map((row, place) => {
      const own = ranks[place];
      const means = resamples.map((chosen) => chosen.reduce((sum, one) => sum + own[one], 0) / n).sort((a, b) => a - b);
      return { row, mean: own.reduce((sum, one) => sum + one, 0) / n, low: means[25], high: means[974] };
    });
    lines.sort((a, b) => a.mean - b.mean);
    const share = (rank) => `${((100 * (rank - 1)) / Math.max(1, rows.length - 1)).toFixed(1)}%`;
    for (const { row, mean, low, high } of lines) {
      row.cells[1].textContent = mean.toFixed(2);
      row.cells[2].textContent = `${low.toFixed(1)} to ${high.toFixed(1)}`;
      for (const [name, rank] of Object.entries({ low, mean, high })) row.cells[2].style.setProperty(`--${name}`, share(rank));
    }
    table.tBodies[0].append(...lines.map((line) => line.row));
  }

  function makeFilter(box) {
    const input = box.querySelector("input");
    const status = box.querySelector("[role=status]");
    const plain = (text) => text.toLowerCase().replaceAll("_", " ").trim();
    const marked = [...document.querySelectorAll("[data-method]")].map((element) => ({
      element,
      name: plain(element.dataset.method),
      inChart: element.closest("svg") !== null,
      isRow: element.matches("tr"),
    }));
    const rows = marked.filter((one) => one.isRow);
    const known = new Set(marked.flatMap((one) => [one.name, one.name.split(" + ")[0]]));
    const shown = new Set(rows.map((one) => one.element.dataset.method));
    box.querySelector("datalist").append(...[...shown].sort(collator.compare).map((name) => new Option(name, name)));
    // A word that is the whole name of a method finds it alone; others find every name that they are part of.
    const matches = (name, word) => (known.has(word) ? name === word || name.split(" + ")[0] === word : name.includes(word));
    const apply = () => {
      const typed = plain(input.value);
      const words = known.has(typed) ? [typed] : typed.split(",").map(plain).filter(Boolean);
      for (const one of marked) {
        one.out = words.length > 0 && !words.some((word) => matches(one.name, word));
        if (one.inChart) one.element.classList.toggle("dim", one.out);
        else one.element.hidden = one.out;
      }
      const left = rows.filter((one) => !one.out).length;
      status.textContent = words.length ? `${left} of ${rows.length} rows` : "";
      if (words.length || input.ranked) document.querySelectorAll("table.heat").forEach(rankAgain);
      input.ranked = words.length > 0;
    };
    input.addEventListener("input", () => {
      apply();
      const address = new URL(location.href);
      if (input.value) address.searchParams.set("methods", input.value);
      else address.searchParams.delete("methods");
      history.replaceState(null, "", address);
    });
    input.value = new URLSearchParams(location.search).get("methods") ?? "";
    if (input.value) apply();
    box.hidden = false;
  }

  function makeReadable(chart) {
    const marks = [...chart.querySelectorAll("[data-method]:has(> title)")];
    if (!marks.length) return;
    const said = make("p", { className: "said" });
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
  for (const table of document.querySelectorAll("table")) {
    if (table.matches(".cards")) makeCards(table);
    makeTools(table);
    if (!table.matches(".heat") && [...table.tBodies].some((body) => body.rows.length > 1)) makeSortable(table);
  }
  // The share of a forest plot's width that its labels take, for the style sheet of narrow screens.
  for (const svg of document.querySelectorAll(".forest svg")) {
    const ends = [...svg.querySelectorAll("text[style*='end']")].map((text) => text.x.baseVal[0].value);
    svg.style.setProperty("--labels", ((Math.max(...ends) + 7) / svg.viewBox.baseVal.width).toFixed(3));
  }
  // Paper shows what is folded, too.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not(.columns, [open])")];
    closed.forEach((box) => (box.open = true));
  });
  addEventListener("afterprint", () => closed.forEach((box) => (box.open = false)));
  for (const cell of document.querySelectorAll("td.command")) makeCopyable(cell);
  makeFilter(document.querySelector("[role=search]"));
  document.documentElement.classList.add("scripted");
})();
