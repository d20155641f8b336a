import assert from "node:assert";
import test from "node:test";
import { renderLinks } from "../src/links.js";
import { addressOf } from "../src/posts.js";

test("an address", () => {
  assert.equal(addressOf({ year: 2030, title: "Hello, World!" }), "/2030/hello-world");
});

test("a link", () => {
  assert.equal(renderLinks("see [[2030: Hello]]"), 'see <a href="/2030/hello">Hello</a>');
});
