import { FORMATS } from "./formats/index.js";

export const HELP = `usage: node report.js FILE [--format FORMAT] [--columns NAMES]

  --format FORMAT   table, json or csv
  --columns NAMES   the columns to show, in this order, with commas between
`;

export function parse(words) {
  const options = { format: "table" };
  for (let at = 0; at < words.length; at += 1) {
    if (words[at] === "--help") {
      options.help = true;
    } else if (words[at] === "--format") {
      at += 1;
      options.format = words[at];
    } else if (words[at] === "--columns") {
      at += 1;
      options.columns = (words[at] ?? "").split(",");
    } else {
      options.file = words[at];
    }
  }
  if (!(options.format in FORMATS)) {
    options.error = `unknown format ${options.format}; there are ${Object.keys(FORMATS).join(", ")}`;
  }
  if (!options.file && !options.help) {
    options.error = "name a file";
  }
  return options;
}
