// The name of a database, `<namespace>/<resource>`: it becomes a folder and a file. Pure.

/** At most 200 characters; no part can leave its folder. */
export function isDatabaseName(name: string): boolean {
  return name.length <= 200 && /^[a-z0-9][a-z0-9_~-]*\/[a-z0-9][a-z0-9_~-]*$/.test(name);
}
