// AG Grid in the colours and measures of the product: its values are the page's custom properties,
// so light and dark follow the system with everything else.

export function gridTheme() {
  return agGrid.themeQuartz.withParams({
    accentColor: "var(--accent)",
    backgroundColor: "var(--surface)",
    foregroundColor: "var(--ink)",
    chromeBackgroundColor: "var(--sunken)",
    headerBackgroundColor: "var(--sunken)",
    headerTextColor: "var(--ink-2)",
    headerFontWeight: 500,
    borderColor: "var(--line)",
    columnBorder: "1px solid var(--line)",
    headerColumnBorder: "1px solid var(--line)",
    rowHoverColor: "color-mix(in srgb, var(--hover) 60%, transparent)",
    rangeSelectionBorderColor: "var(--focus)",
    menuBackgroundColor: "var(--surface)",
    menuShadow: "var(--shadow-raised)",
    tooltipBackgroundColor: "var(--surface)",
    fontFamily: "inherit",
    fontSize: 13,
    headerFontSize: 13,
    cellHorizontalPadding: 10,
    rowHeight: 34,
    headerHeight: 50,
    wrapperBorder: false,
    wrapperBorderRadius: 0,
    browserColorScheme: "inherit",
  });
}
