/* All pages as one: the HTML of a document that has every article of the book, for the printer. pdf.py runs this on the
   site's first page. `parts` is the table of contents: [{caption, pages: [name, …]}, …]. */
async (parts) => {
  const names = parts.flatMap(({ pages }) => pages);
  const address = (name) => new URL(`${name}.html`, root).href;
  const root = new URL(document.documentElement.dataset.content_root, location.href);
  const anchor = (name, id) => (id ? `${name}--${id}` : name).replaceAll("/", "-");
  const nameOf = new Map(names.map((name) => [address(name), name]));

  async function fetchArticle(name) {
    const response = await fetch(address(name));
    if (!response.ok) throw new Error(`${response.status}: ${response.url}`);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const article = page.querySelector("article");
    article.querySelectorAll(".book-map, .book-play, .headerlink, button, script:not([type^='application/vnd'])").forEach((e) => e.remove());
    article.querySelectorAll("noscript").forEach((e) => !e.closest(".book-figure") && e.replaceWith(...e.childNodes));
    for (const details of article.querySelectorAll("details")) details.open = true;
    for (const link of article.querySelectorAll("a[href]")) {
      const target = new URL(link.getAttribute("href"), address(name));
      const page = nameOf.get(target.origin + target.pathname);
      if (page) link.href = `#${anchor(page, target.hash.slice(1))}`;
      else if (target.origin === location.origin) link.removeAttribute("href"); // not in the book, as the slides
    }
    for (const element of article.querySelectorAll("[id]")) element.id = anchor(name, element.id);
    article.id = anchor(name);
    return article;
  }

  const articles = new Map(await Promise.all(names.map(async (name) => [name, await fetchArticle(name)])));
  const ids = new Set([...articles.values()].flatMap((e) => [e.id, ...[...e.querySelectorAll("[id]")].map(({ id }) => id)]));
  for (const article of articles.values()) {
    for (const link of article.querySelectorAll("a[href^='#']")) {
      const id = decodeURIComponent(link.hash.slice(1));
      link.href = `#${ids.has(id) ? id : id.split("--")[0]}`; // such as settings for the playground
    }
  }
  const titleOf = (name) => articles.get(name).querySelector("h1").textContent;
  const entry = (name) =>
    `<li><a href="#${anchor(name)}">${titleOf(name)}</a> <span data-place="${anchor(name)}">000</span></li>`;
  const part = ({ caption, pages }) => `<p>${caption}</p><ul>${pages.map(entry).join("")}</ul>`;
  const head = [...document.head.querySelectorAll("link[rel=stylesheet], script")];
  const kept = head.filter((e) => e.matches("link, [src*='book.js'], [src*='mathjax']") || /window.MathJax/.test(e.text));
  const title = document.title.split(" — ").at(-1);
  return `<!doctype html><html lang="en" data-theme="light" data-mode="light">
    <head><meta charset="utf-8"><title>${title}</title>${kept.map((e) => e.outerHTML).join("")}</head>
    <body><nav class="book-contents"><h1>${title}</h1>${parts.map(part).join("")}</nav>
    ${[...articles.values()].map((article) => article.outerHTML).join("")}</body></html>`;
};
