
"use strict";
/* Tables of many rows: only visible rows are drawn; search, sorting, and keys. */
(() => {
  const TALLEST = 8e6; /* pixels that every browser scrolls over exactly */
  const CELL = 400; /* characters of a cell; the whole text stands below the table */

  const make = (name, attributes, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };

  const shownValue = (value, column) => {
    if (value === null) return "";
    if (typeof value === "number" && column.decimals !== null) {
      return value.toFixed(column.decimals);
    }
    return String(value);
  };

  const start = (block, name) => {
    const data = JSON.parse(block.querySelector("script").textContent);
    const { columns, rows, views, label } = data;
    const live = block.querySelector(".rows-live");
    const grid = columns.map((_, index) => index).filter((index) => columns[index].grid);
    let view = Math.max(0, views.findIndex((item) => item.rows === null || item.rows.length));
    let order = null; /* { column, direction } */
    let words = [];
    let indices = []; /* of the rows shown, in their order */
    let chosen = -1; /* index of the selected row, even if it is not shown */
    let first = 0;
    let visible = 1;
    let rowHeight = 32;

    /* --- contents -------------------------------------------------------------------- */
    const buttons = views.map((item, index) => {
      const count = item.rows === null ? rows.length : item.rows.length;
      const button = make("button", { type: "button" }, `${item.title} ${count}`);
      button.addEventListener("click", () => { view = index; update(); });
      return button;
    });
    const search = make("input", { type: "search", autocomplete: "off", spellcheck: "false" });
    const status = make("p", { role: "status" });
    const heads = grid.map((index) => {
      const column = columns[index];
      const button = make("button", { type: "button" }, column.title);
      const head = make("th", { scope: "col", "aria-sort": "none" }, button);
      button.addEventListener("click", () => sortBy(index));
      head.className = cellClass(column);
      if (column.width !== null) head.style.width = `calc(${column.width}ch + 1.2rem)`;
      return head;
    });
    function cellClass(column) {
      const side = column.decimals === null ? "" : "number ";
      return `${side}wide-only-${column.priority}`;
    }
    const headRow = make("tr", { "aria-rowindex": "1" }, ...heads);
    const body = make("tbody", {});
    const table = make(
      "table",
      { role: "grid", tabindex: "0", "aria-label": label },
      make("thead", {}, headRow),
      body,
    );
    const port = make("div", { class: "port" }, table);
    const filler = make("div", {});
    const scroller = make("div", { class: "scroller" }, port, filler);
    const detail = make("div", { class: "chosen-row", role: "region", "aria-live": "polite",
      tabindex: "0", "aria-label": "The chosen row" });
    const group = make("div", { class: "views", role: "group", "aria-label": "Rows shown" },
      ...buttons);
    const field = make("label", {}, 'Search ("words in quotes" as one)', search);
    live.replaceChildren(make("div", { class: "tools" }, group, field, status), scroller, detail);

    /* --- which rows, in which order ---------------------------------------------------- */
    let texts = null;
    const searched = () => {
      texts ??= rows.map((row) => {
        const told = row.filter((value) => typeof value === "string" && value !== "");
        return told.join("\n").toLowerCase();
      });
      return texts;
    };
    const sortBy = (column) => {
      if (order === null || order.column !== column) order = { column, direction: 1 };
      else order = order.direction === 1 ? { column, direction: -1 } : null;
      update();
    };
    const compare = (column, direction) => {
      const keys = rows.map((row) => {
        const value = row[column];
        return typeof value === "string" ? value.toLowerCase() : value;
      });
      /* Missing values come last in both directions. */
      return (a, b) => {
        const left = keys[a], right = keys[b];
        if (left === right) return a - b;
        if (left === null || left === "") return right === null || right === "" ? a - b : 1;
        if (right === null || right === "") return -1;
        return (left < right ? -direction : direction) || a - b;
      };
    };
    const update = () => {
      const some = views[view].rows;
      indices = some === null ? rows.map((_, index) => index) : some.slice();
      if (words.length) {
        const all = searched();
        indices = indices.filter((index) => words.every((word) => all[index].includes(word)));
      }
      if (order !== null) indices.sort(compare(order.column, order.direction));
      buttons.forEach((button, index) => button.setAttribute("aria-pressed", index === view));
      heads.forEach((head, index) => {
        const sorted = order !== null && order.column === grid[index];
        const direction = order !== null && order.direction === 1 ? "ascending" : "descending";
        head.setAttribute("aria-sort", sorted ? direction : "none");
      });
      const total = some === null ? rows.length : some.length;
      const count = indices.length === total ? `${total}` : `${indices.length} of ${total}`;
      status.textContent = `${count} ${total === 1 ? "row" : "rows"}`;
      table.setAttribute("aria-rowcount", indices.length + 1);
      if (!indices.includes(chosen)) choose(-1);
      scroller.scrollTop = 0;
      measure();
    };

    /* --- drawing ----------------------------------------------------------------------- */
    const measure = () => {
      if (!body.rows.length && indices.length) body.append(emptyRow());
      if (body.rows.length) rowHeight = body.rows[0].getBoundingClientRect().height || 32;
      const head = headRow.getBoundingClientRect().height;
      /* A short list leaves no empty space. */
      const needed = head + Math.max(1, indices.length) * rowHeight + 2;
      scroller.style.height = `min(32rem, ${Math.ceil(needed)}px)`;
      const room = port.clientHeight - head;
      visible = Math.max(1, Math.floor(room / rowHeight));
      const beyond = Math.max(0, indices.length - visible);
      filler.style.height = `${Math.min(beyond * rowHeight, TALLEST)}px`;
      draw();
    };
    const emptyRow = () => {
      const cells = grid.map((index) => make("td", { class: cellClass(columns[index]) }, ""));
      const row = make("tr", {}, ...cells);
      row.addEventListener("click", () => choose(Number(row.dataset.index)));
      return row;
    };
    const draw = () => {
      const last = Math.max(0, indices.length - visible);
      const most = scroller.scrollHeight - scroller.clientHeight;
      first = most > 0 ? Math.min(last, Math.round((scroller.scrollTop / most) * last)) : 0;
      const count = Math.min(visible, indices.length - first);
      while (body.rows.length > count) body.lastChild.remove();
      while (body.rows.length < count) body.append(emptyRow());
      for (let k = 0; k < count; k += 1) {
        const index = indices[first + k];
        const row = body.rows[k];
        row.dataset.index = index;
        row.id = `${name}-${index}`;
        row.setAttribute("aria-rowindex", first + k + 2);
        row.setAttribute("aria-selected", index === chosen);
        grid.forEach((column, cell) => {
          const value = shownValue(rows[index][column], columns[column]);
          const short = value.length > CELL ? `${value.slice(0, CELL)}…` : value;
          row.cells[cell].textContent = short.replaceAll("\n", "↵");
        });
      }
      const seen = first <= indices.indexOf(chosen) && indices.indexOf(chosen) < first + count;
      if (chosen >= 0 && seen) table.setAttribute("aria-activedescendant", `${name}-${chosen}`);
      else table.removeAttribute("aria-activedescendant");
    };
    let waiting = false;
    scroller.addEventListener("scroll", () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; draw(); });
    }, { passive: true });
    new ResizeObserver(measure).observe(scroller);

    /* --- choosing a row ---------------------------------------------------------------- */
    const choose = (index) => {
      chosen = index;
      if (index < 0) {
        detail.replaceChildren(make("p", { class: "muted" },
          "Choose a row, by mouse or by the arrow keys, to read all of it here."));
      } else {
        const list = make("dl", { class: "facts" });
        columns.forEach((column, at) => {
          const value = rows[index][at];
          if (value === null || value === "") return;
          list.append(make("div", {}, make("dt", {}, column.title),
            make("dd", {}, String(value))));
        });
        detail.replaceChildren(list);
      }
      draw();
    };
    const move = (to) => {
      if (!indices.length) return;
      const target = Math.max(0, Math.min(indices.length - 1, to));
      const last = Math.max(0, indices.length - visible);
      const most = scroller.scrollHeight - scroller.clientHeight;
      let top = first;
      if (target < first) top = target;
      if (target >= first + visible) top = target - visible + 1;
      if (top !== first && last) scroller.scrollTop = (top / last) * most;
      choose(indices[target]);
    };
    table.addEventListener("keydown", (event) => {
      if (event.target !== table || event.altKey || event.ctrlKey || event.metaKey) return;
      const at = indices.indexOf(chosen);
      const here = at < 0 ? first - 1 : at;
      const targets = {
        ArrowDown: here + 1, ArrowUp: at < 0 ? first : at - 1, PageDown: here + visible,
        PageUp: here - visible, Home: 0, End: indices.length - 1,
      };
      if (!(event.key in targets)) return;
      event.preventDefault();
      move(targets[event.key]);
    });
    search.addEventListener("input", () => {
      const found = search.value.toLowerCase().match(/"[^"]+"|[^\s"]+/g) ?? [];
      words = found.map((word) => word.replaceAll('"', ""));
      update();
    });

    live.hidden = false;
    block.classList.add("on");
    choose(-1);
    update();
  };

  document.querySelectorAll("div.rows").forEach((block, number) => start(block, `row-${number}`));
})();
