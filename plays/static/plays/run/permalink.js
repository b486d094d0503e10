// The address of what is open: #map=12&row=40&column=email. Rows count from 1, as people count.

export function readPlace() {
  const told = new URLSearchParams(location.hash.slice(1));
  const number = (name) => (told.has(name) ? Number.parseInt(told.get(name), 10) || null : null);
  return { map: number("map"), row: number("row"), column: told.get("column") };
}

export function writePlace({ frame, row, column }) {
  const told = new URLSearchParams({ map: frame.id, row: row.position + 1 });
  if (column) told.set("column", column.name);
  history.replaceState(null, "", `#${told}`);
}

export function clearPlace() {
  history.replaceState(null, "", location.pathname + location.search);
}
