export function json(rows, columns) {
  const chosen = rows.map((row) => Object.fromEntries(columns.map((name) => [name, row[name]])));
  return `${JSON.stringify(chosen, null, 2)}\n`;
}
