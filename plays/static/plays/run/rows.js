// Rows as the grid holds them, and patches to them. Knows neither the grid nor the socket.
//
// A row is {position, status, sequence, input, cells, fresh}: `fresh` is the run's sequence up to
// which nothing of it can have been missed.

export function fromPage(page) {
  for (const row of page.rows) row.fresh = page.sequence;
  return page.rows;
}

// Applies a patch and gives the names of the cells that it changed. A cell never gives way to an
// older one: a patch may be on its way while a newer page arrives.
export function applyPatch(row, patch) {
  const changed = [];
  for (const [name, cell] of Object.entries(patch.cells)) {
    const known = row.cells[name];
    if (known && known.sequence >= cell.sequence) continue;
    row.cells[name] = cell;
    changed.push(name);
  }
  if (patch.sequence >= row.sequence) {
    row.sequence = patch.sequence;
    row.status = patch.status;
  }
  return changed;
}

// What a column shows of a row: a cell with its state, or a plain value of the input.
export function cellOf(row, column) {
  const cell = row.cells[column.name];
  if (cell) {
    if (column.kind === "filled" && cell.value === undefined) {
      return { ...cell, value: row.input[column.name] };
    }
    return cell;
  }
  return row.input[column.name] === undefined
    ? null
    : { value: row.input[column.name], status: "" };
}

export const isPreview = (value) => value !== null && typeof value === "object";

export function previewText(value) {
  if (value === null || value === undefined) return "";
  return isPreview(value) ? value.preview : String(value);
}
