// Making and changing elements. Text is always text: nothing from a run is ever parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";
let sprite = "";

export function useIcons(address) {
  sprite = address;
}

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child || child === 0));
  return made;
}

export function icon(name) {
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("class", "icon");
  picture.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `${sprite}#${name}`);
  picture.append(use);
  return picture;
}

export function setIcon(picture, name) {
  picture.firstChild.setAttribute("href", `${sprite}#${name}`);
}

export function button(label, attributes = {}, mark = "") {
  const { class: kind = "button button-small", ...others } = attributes;
  return element(
    "button",
    { type: "button", class: kind, ...others },
    mark ? icon(mark) : null,
    label,
  );
}

// Changes text only where it differs, so that screen readers and selections are left alone.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function show(node, isShown) {
  node.hidden = !isShown;
}

export const find = (name, root = document) => root.querySelector(`[data-run-part="${name}"]`);
