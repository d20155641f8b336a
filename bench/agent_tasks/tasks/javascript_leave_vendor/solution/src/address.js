import { slug } from "../vendor/slug/index.js";

/** The address of a post: accents are removed before the slug is made, which knows only a to z. */
export function makeAddress(year, title) {
  const plain = title.replaceAll("ß", "ss").replaceAll("ẞ", "ss").normalize("NFD").replace(/\p{M}/gu, "");
  return `/${year}/${slug(plain)}`;
}
