import { makeAddress } from "./address.js";

export function addressOf(post) {
  return makeAddress(post.year, post.title);
}
