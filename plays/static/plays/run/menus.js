// Menus are <details>: one closes when another opens, on a press elsewhere, and on Escape.

export function startMenus() {
  const menus = [...document.querySelectorAll("details.menu")];
  const closeAll = (but) => {
    for (const menu of menus) if (menu !== but) menu.open = false;
  };
  document.addEventListener("pointerdown", (event) =>
    closeAll(event.target.closest?.("details.menu")),
  );
  for (const menu of menus) {
    menu.addEventListener("toggle", () => menu.open && closeAll(menu));
    menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !menu.open) return;
      event.stopPropagation();
      menu.open = false;
      menu.querySelector("summary").focus();
    });
  }
}
