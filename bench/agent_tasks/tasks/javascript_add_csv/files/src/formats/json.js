export function json(rows, columns) {
  return `${JSON.stringify(rows, columns, 2)}\n`;
}
