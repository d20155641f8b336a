
(() => {
  "use strict";
  const root = document.documentElement;
  const memory = {
    get: () => { try { return localStorage.getItem("clio-export-theme"); } catch { return null; } },
    set: (value) => { try { localStorage.setItem("clio-export-theme", value); } catch { /* a page without storage */ } },
  };
  const MOST = 5000;
  const saved = memory.get();
  if (saved === "light" || saved === "dark") root.dataset.theme = saved;
  root.classList.add("js");

  document.addEventListener("DOMContentLoaded", () => {
    const by = (id) => document.getElementById(id);
    const find = by("find"), only = by("only"), output = by("hits"), fold = by("fold");
    const parts = [...document.querySelectorAll(".m, .head, .todos")];
    let index = null, hits = [], at = -1, timer = 0, asked = "";

    by("theme").addEventListener("click", () => {
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      memory.set(root.dataset.theme);
    });

    fold.addEventListener("click", () => {
      const open = fold.getAttribute("aria-pressed") !== "true";
      for (const details of document.querySelectorAll(".m details")) details.open = open;
      fold.setAttribute("aria-pressed", String(open));
      fold.textContent = open ? "Collapse all" : "Expand all";
    });

    document.addEventListener("click", async (event) => {
      const button = event.target.closest(".copy");
      if (!button) return;
      const code = button.closest(".code").querySelector("code");
      let done = true;
      try {
        await navigator.clipboard.writeText(code.textContent);
      } catch {
        const selection = getSelection();
        selection.selectAllChildren(code);
        done = document.execCommand("copy");
        selection.removeAllRanges();
      }
      button.textContent = done ? "Copied" : "Not copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });

    // Lower case must have the length of the text, or a hit would be marked beside its place.
    const lower = (text) => {
      const whole = text.toLowerCase();
      if (whole.length === text.length) return whole;
      return text.replace(/[^]/gu, (c) => (c.toLowerCase().length === c.length ? c.toLowerCase() : c));
    };

    const read = (part) => {
      const nodes = [], starts = [];
      let text = "";
      const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT, (node) =>
        node.parentElement.closest("button") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
      while (walker.nextNode()) {
        nodes.push(walker.currentNode);
        starts.push(text.length);
        text += walker.currentNode.data;
      }
      return { part, nodes, starts, text: lower(text) };
    };

    const place = (entry, offset) => {
      let low = 0, high = entry.starts.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (entry.starts[middle] <= offset) low = middle; else high = middle - 1;
      }
      return [entry.nodes[low], offset - entry.starts[low]];
    };

    const rangeOf = (entry, start, length) => {
      const range = document.createRange();
      const [last, end] = place(entry, start + length - 1);
      range.setStart(...place(entry, start));
      range.setEnd(last, end + 1);
      return range;
    };

    const search = () => {
      clearTimeout(timer);
      asked = find.value;
      const words = lower(asked.trim());
      root.classList.toggle("searching", Boolean(words));
      hits = [];
      at = -1;
      if (words) index = index || parts.map(read);
      for (const entry of index || []) {
        let found = false, start = words ? entry.text.indexOf(words) : -1;
        for (; start >= 0; start = entry.text.indexOf(words, start + words.length)) {
          found = true;
          if (hits.length >= MOST) break;
          hits.push(rangeOf(entry, start, words.length));
        }
        entry.part.classList.toggle("quiet", Boolean(words) && only.checked && !found);
      }
      if (window.Highlight && CSS.highlights) CSS.highlights.set("hit", new Highlight(...hits));
      if (hits.length) go(first()); else show();
    };

    // The first hit at or below what is in sight, so that typing does not throw the reader back to the top.
    const first = () => {
      const below = hits.findIndex((hit) => {
        const box = hit.startContainer.parentElement.getBoundingClientRect();
        return box.height > 0 && box.bottom > 60;
      });
      return Math.max(below, 0);
    };

    const show = () => {
      const many = hits.length >= MOST ? `${MOST}+` : String(hits.length);
      output.textContent = !find.value.trim() ? "" : hits.length ? `${at + 1} of ${many}` : "no hits";
      if (at < 0 && window.Highlight && CSS.highlights) CSS.highlights.delete("now");
    };

    const go = (to) => {
      if (!hits.length) return;
      at = (to + hits.length) % hits.length;
      const hit = hits[at], parent = hit.startContainer.parentElement;
      open(parent);
      if (window.Highlight && CSS.highlights) {
        CSS.highlights.set("now", new Highlight(hit));
      } else {
        getSelection().removeAllRanges();
        getSelection().addRange(hit);
      }
      parent.scrollIntoView({ block: "nearest", behavior: "instant" });
      for (let box = parent; box && box !== document.body; box = box.parentElement) {
        if (box.scrollHeight > box.clientHeight && /auto|scroll/.test(getComputedStyle(box).overflowY)) {
          const inner = box.getBoundingClientRect(), mark = hit.getBoundingClientRect();
          box.scrollTo({ top: box.scrollTop + mark.top - inner.top - box.clientHeight / 2, behavior: "instant" });
          box.scrollTo({ left: box.scrollLeft + Math.max(mark.right - inner.right + 20, 0), behavior: "instant" });
        }
      }
      const mark = hit.getBoundingClientRect();
      scrollBy({ top: mark.top - innerHeight / 3, behavior: "instant" });
      show();
    };

    const open = (element) => {
      for (let box = element; box; box = box.parentElement) {
        if (box.tagName === "DETAILS" && !element.closest("summary")?.parentElement.isSameNode(box)) box.open = true;
      }
    };

    const arrive = () => {
      const target = location.hash && by(decodeURIComponent(location.hash.slice(1)));
      if (!target) return;
      target.classList.remove("quiet");
      if (target.tagName === "DETAILS") target.open = true;
      open(target);
      target.scrollIntoView({ behavior: "instant" });
    };

    find.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 180); });
    only.addEventListener("change", search);
    by("next").addEventListener("click", () => go(at + 1));
    by("previous").addEventListener("click", () => go(at - 1));
    find.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        event.preventDefault();
        if (asked !== find.value) search(); else go(at + (event.shiftKey ? -1 : 1));
      } else if (event.key === "Escape") {
        find.value = "";
        search();
        find.blur();
      }
    });
    document.addEventListener("keydown", (event) => {
      const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        find.focus();
      }
    });
    addEventListener("hashchange", arrive);
    arrive();
  });
})();
