export function table(rows, columns) {
  const lines = [columns, ...rows.map((row) => columns.map((name) => String(row[name])))];
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => line[at].length)));
  return lines.map((line) => `${line.map((cell, at) => cell.padEnd(widths[at])).join("  ").trimEnd()}\n`).join("");
}
