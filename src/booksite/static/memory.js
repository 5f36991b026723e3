/* What this browser remembers for its reader, and tells nobody: where the reading stopped, which exercises are solved. */
(() => {
  "use strict";
  const PLACE = "topiclens.place"; // {page, title, section}
  const SOLVED = "topiclens.solved"; // ids of exercises

  function recall(key) {
    try {
      return JSON.parse(localStorage.getItem(key));
    } catch {
      return null; // no storage (a private window, a file), or not ours
    }
  }

  function remember(key, value) {
    try {
      localStorage.setItem(key, JSON.stringify(value));
    } catch {
      // then it is forgotten
    }
  }

  /* ---- solved exercises ---- */

  function addCheckbox(exercise, solved) {
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = solved.has(exercise.id);
    box.addEventListener("change", () => {
      const now = new Set(recall(SOLVED)); // another window may have changed it
      box.checked ? now.add(exercise.id) : now.delete(exercise.id);
      remember(SOLVED, [...now]);
    });
    const label = document.createElement("label");
    label.className = "solved";
    label.append(box, " solved");
    exercise.append(label);
  }

  /* ---- the reading position ---- */

  const chapter = document.querySelector(".book-map [aria-current]");

  function notePlace() {
    const above = [...document.querySelectorAll("article section[id]")].filter((s) => s.getBoundingClientRect().top < 200);
    const section = above.at(-1);
    if (!section?.parentElement.closest("section")) return; // still at the top: no place worth coming back to
    const heading = section.querySelector("h2, h3, h4").cloneNode(true);
    heading.querySelector(".headerlink")?.remove();
    remember(PLACE, { page: location.pathname.split("/").pop(), title: heading.textContent.trim(), section: section.id });
  }

  /* On the first page, a link to where the reading stopped. */
  function offerPlace() {
    const place = recall(PLACE);
    if (!place?.page || !/\/intro\.html$/.test(location.pathname)) return;
    const link = document.createElement("a");
    link.href = `${encodeURIComponent(place.page)}#${encodeURIComponent(place.section)}`;
    link.textContent = `Go on reading at ${place.title}`;
    const line = document.createElement("p");
    line.className = "go-on";
    line.append(link);
    document.querySelector("article h1").after(line);
  }

  const solved = new Set(recall(SOLVED));
  for (const exercise of document.querySelectorAll(".exercise.admonition[id]")) addCheckbox(exercise, solved);
  if (chapter) document.addEventListener("visibilitychange", () => document.hidden && notePlace());
  if (chapter) window.addEventListener("pagehide", notePlace);
  offerPlace();
})();
