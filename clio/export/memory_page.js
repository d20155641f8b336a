
(() => {
  "use strict";
  document.documentElement.classList.add("js");
  document.addEventListener("DOMContentLoaded", () => {
    const by = (id) => document.getElementById(id);
    const find = by("find"), filters = ["kind", "scope", "state"], hits = by("hits"), none = by("none");
    const plain = (text) => text.normalize("NFKC").toLowerCase();
    const views = ["memories", "timeline"].map((id) => ({ id, section: by(id), rows: null }));
    const current = () => views.find((view) => !view.section.hidden);
    // The text of thousands of rows is read when it is first searched, so that the page opens at once.
    const rows = (view) => view.rows ||= [...view.section.querySelectorAll("[data-kind]")].map((part) => ({ part, text: plain(part.textContent) }));
    const apply = () => {
      const words = plain(find.value).split(/\s+/).filter(Boolean);
      const view = current();
      // A change in the timeline has a kind only.
      const chosen = filters.filter((name) => by(name).value && (name === "kind" || view.id === "memories"));
      const filtered = words.length > 0 || chosen.length > 0;
      let count = 0;
      if (filtered || view.rows) {
        for (const { part, text } of rows(view)) {
          const shown = words.every((word) => text.includes(word)) && chosen.every((name) => part.dataset[name] === by(name).value);
          if (part.hidden === shown) part.hidden = !shown;
          count += shown;
        }
        for (const day of view.section.querySelectorAll(".day")) day.hidden = !day.querySelector("li:not([hidden])");
      }
      hits.textContent = filtered ? `${count} of ${view.rows.length}` : "";
      none.hidden = !filtered || count > 0;
    };
    const clear = () => {
      find.value = "";
      for (const name of filters) by(name).value = "";
    };
    const show = () => {
      const target = location.hash.startsWith("#m") && by(location.hash.slice(1));
      if (target && target.hidden) clear(); // a link to a memory that the search hides shows all of them again
      const id = location.hash === "#timeline" ? "timeline" : "memories";
      for (const view of views) {
        view.section.hidden = view.id !== id;
        const link = document.querySelector(`.views a[href="#${view.id}"]`);
        if (view.id === id) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
      }
      for (const name of ["scope", "state"]) by(name).hidden = id === "timeline";
      apply();
      if (target && target.classList.contains("memory")) target.scrollIntoView();
      else scrollTo(0, 0);
    };
    find.addEventListener("input", apply);
    for (const name of filters) by(name).addEventListener("change", apply);
    addEventListener("hashchange", show);
    show();
    addEventListener("pageshow", apply);
  });
})();
