import { slug } from "../vendor/slug/index.js";

export function addressOf(post) {
  return `/${post.year}/${slug(post.title)}`;
}
