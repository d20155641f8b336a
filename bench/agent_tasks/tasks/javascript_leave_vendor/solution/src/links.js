import { makeAddress } from "./address.js";

/** Replaces [[2030: Title]] by a link to that post. */
export function renderLinks(text) {
  return text.replace(/\[\[(\d+): ([^\]]+)\]\]/g, (_, year, title) => `<a href="${makeAddress(year, title)}">${title}</a>`);
}
