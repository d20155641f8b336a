import { slug } from "../vendor/slug/index.js";

/** Replaces [[2030: Title]] by a link to that post. */
export function renderLinks(text) {
  return text.replace(/\[\[(\d+): ([^\]]+)\]\]/g, (_, year, title) => `<a href="/${year}/${slug(title)}">${title}</a>`);
}
