/** Which nodes in view are asked about, and in which order. */

/** Of these nodes, one that was not asked about at this version: first who never was, then whoever waits longest. */
export function oldest(
  names: readonly string[],
  versions: ReadonlyMap<string, string>,
  version: string,
): string | undefined {
  const wanted = new Set(names.filter((name) => versions.get(name) !== version));
  for (const name of wanted) if (!versions.has(name)) return name;
  for (const name of versions.keys()) if (wanted.has(name)) return name;
  return undefined;
}
