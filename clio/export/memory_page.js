
(() => {
  "use strict";
  document.documentElement.classList.add("js");
  document.addEventListener("DOMContentLoaded", () => {
    const by = (id) => document.getElementById(id);
    const find = by("find"), filters = ["kind", "scope", "state"], hits = by("hits"), none = by("none");
    const plain = (text) => text.normalize("NFKC").toLowerCase();
    const memories = [...document.querySelectorAll(".memory")].map((part) => ({ part, text: plain(part.textContent) }));
    const apply = () => {
      const words = plain(find.value).split(/\s+/).filter(Boolean);
      const chosen = filters.filter((name) => by(name).value);
      let count = 0;
      for (const { part, text } of memories) {
        const shown = words.every((word) => text.includes(word)) && chosen.every((name) => part.dataset[name] === by(name).value);
        part.hidden = !shown;
        count += shown;
      }
      hits.textContent = words.length || chosen.length ? `${count} of ${memories.length}` : "";
      none.hidden = count > 0 || memories.length === 0;
    };
    find.addEventListener("input", apply);
    for (const name of filters) by(name).addEventListener("change", apply);
    // A link to a memory that the search hides shows all of them again.
    document.addEventListener("click", (event) => {
      const link = event.target.closest('a[href^="#m"]');
      const target = link && by(link.getAttribute("href").slice(1));
      if (!target || !target.hidden) return;
      find.value = "";
      for (const name of filters) by(name).value = "";
      apply();
    });
    apply();
    addEventListener("pageshow", apply);
  });
})();
