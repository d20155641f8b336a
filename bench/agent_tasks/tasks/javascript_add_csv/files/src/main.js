import { readFileSync } from "node:fs";
import { parse, HELP } from "./args.js";
import { FORMATS } from "./formats/index.js";

export function main(words, out, err) {
  const options = parse(words);
  if (options.help) {
    out.write(HELP);
    return 0;
  }
  if (options.error) {
    err.write(`report: ${options.error}\n`);
    return 2;
  }
  const rows = JSON.parse(readFileSync(options.file, "utf8"));
  out.write(FORMATS[options.format](rows, Object.keys(rows[0] ?? {})));
  return 0;
}
