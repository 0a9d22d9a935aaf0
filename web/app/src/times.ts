/** Times in words. */

const UNITS: readonly (readonly [string, number])[] = [
  ["d", 86400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
];

/** How long it was from one time to the other, in at most two units; empty if one of them is not known. */
export function age(since: string, moment: string): string {
  const seconds = Math.floor((Date.parse(moment) - Date.parse(since)) / 1000);
  if (Number.isNaN(seconds)) return "";
  if (seconds < 1) return "now";
  const first = UNITS.findIndex(([, size]) => seconds >= size);
  const parts: string[] = [];
  let rest = seconds;
  for (const [unit, size] of UNITS.slice(first, first + 2)) {
    const count = Math.floor(rest / size);
    if (count > 0) parts.push(`${count} ${unit}`);
    rest -= count * size;
  }
  return parts.join(" ");
}

/** A time for people, in UTC, to the second; the text itself if it is no time. */
export function utc(time: string): string {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return time;
  return `${at.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}
