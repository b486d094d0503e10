// Numbers, moments and spans of time as people read them.

const WHOLE = new Intl.NumberFormat("en");
const DECIMAL = new Intl.NumberFormat("en", { maximumFractionDigits: 4 });
const CLOCK = new Intl.DateTimeFormat([], {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const MOMENT = new Intl.DateTimeFormat([], {
  dateStyle: "medium",
  timeStyle: "medium",
  hourCycle: "h23",
});

const DAY_AND_TIME = new Intl.DateTimeFormat([], {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});

export const count = (number) => WHOLE.format(number);
export const amount = (number) => DECIMAL.format(number);
export const clock = (moment) => CLOCK.format(new Date(moment));
// The time of a moment of today, and the day with it for any other.
export function deadline(moment) {
  const at = new Date(moment);
  const isToday = at.toDateString() === new Date().toDateString();
  return (isToday ? CLOCK : DAY_AND_TIME).format(at);
}
export const moment = (moment) => MOMENT.format(new Date(moment));
export const words = (name) => name.replaceAll("_", " ");
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

export function percent(part, whole) {
  if (!whole) return "0 %";
  const share = (100 * part) / whole;
  if (share > 99 && part < whole) return "99 %";
  return `${share > 0 && share < 1 ? 1 : Math.round(share)} %`;
}

// 4 s, 1 min 5 s, 2 h 3 min: the two largest units.
export function span(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${count(Math.floor(whole / 3600))} h ${Math.floor((whole % 3600) / 60)} min`;
}

export function milliseconds(number) {
  return number < 1000 ? `${count(number)} ms` : `${(number / 1000).toFixed(1)} s`;
}

export function size(characters) {
  return characters < 10_000
    ? `${count(characters)} characters`
    : `${count(Math.round(characters / 1000))} thousand characters`;
}

// Indents JSON text without parsing it, so that no number loses a digit.
export function indented(json) {
  let depth = 0;
  let inText = false;
  let result = "";
  for (let i = 0; i < json.length; i++) {
    const c = json[i];
    if (inText) {
      result += c;
      if (c === "\\") result += json[++i] ?? "";
      else if (c === '"') inText = false;
    } else if ((c === "{" || c === "[") && json[i + 1] === (c === "{" ? "}" : "]")) {
      result += c + json[++i];
    } else if (c === "{" || c === "[") {
      result += `${c}\n${"  ".repeat(++depth)}`;
    } else if (c === "}" || c === "]") {
      result += `\n${"  ".repeat(--depth)}${c}`;
    } else if (c === ",") {
      result += `,\n${"  ".repeat(depth)}`;
    } else {
      inText = c === '"';
      result += c === ":" ? ": " : c;
    }
  }
  return result;
}

/** An error's sentence, and where in the play it was raised, be it in a nested step. */
export function fault({ message, step, line }) {
  const place = [step && `step ${step}`, line].filter(Boolean).join(", ");
  return place ? `${message} (${place})` : message;
}
