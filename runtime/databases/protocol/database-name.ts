// The name of a database, `<namespace>/<resource>`, which determines its folder and file. The project determines the
// home. Pure.

/** At most 200 characters; no part can point outside its folder. */
export function isDatabaseName(name: string): boolean {
  return name.length <= 200 && /^[a-z0-9][a-z0-9_~-]*\/[a-z0-9][a-z0-9_~-]*$/.test(name);
}

/**
 * The project of a database. The databases of its previews and durable objects, which have their own namespaces, are on
 * the same machine.
 */
export function projectOf(name: string): string {
  const namespace = name.split('/', 1)[0]!;
  const end = namespace.indexOf('~~');
  return end === -1 ? namespace : namespace.slice(0, end);
}
