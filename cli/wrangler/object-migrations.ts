// Converts Wrangler's `migrations` of durable objects: their history becomes the classes that are renamed or deleted in
// the end. Pure.
import { isClassName } from '#core/bindings/object.ts';
import { classesProblems } from '#core/bindings/object-classes.ts';

/** Result of a conversion. */
interface ImportedClasses {
  /** Former names with the next. */
  readonly renamed: Readonly<Record<string, string>>;
  readonly deleted: readonly string[];
  /** Keys of migrations with what was left out, and why. */
  readonly notes: readonly Note[];
}

type Migration = Readonly<Record<string, unknown>>;
type Note = readonly [key: string, note: string];

/** @param own classes of the worker that bindings name. */
export function importedClasses(migrations: readonly Migration[], own: ReadonlySet<string>): ImportedClasses {
  const notes: Note[] = [];
  const renamed: Record<string, string> = {};
  const deleted = new Set<string>();
  const made = new Set<string>();
  for (const migration of migrations) {
    void migration['tag'];
    for (const key of ['new_classes', 'new_sqlite_classes'])
      for (const name of namesIn(migration, key, notes)) {
        made.add(name);
        deleted.delete(name);
      }
    for (const { from, to } of pairsIn(migration, 'renamed_classes', notes)) {
      renamed[from] = to;
      made.delete(from);
      made.add(to);
    }
    for (const name of namesIn(migration, 'deleted_classes', notes)) {
      deleted.add(name);
      made.delete(name);
    }
    for (const { from, to, script } of pairsIn(migration, 'transferred_classes', notes)) {
      made.add(to);
      notes.push([
        'transferred_classes',
        `not supported: leave the class ${from} in the project ${script}, and reach it with { class: ${from}, project: ${script} }`,
      ]);
    }
  }
  for (const name of made)
    if (!own.has(name)) notes.push(['new_classes', `no binding of durable_objects has the class ${name}: omitted`]);
  // Nothing of the project is stored here yet: a name that was used twice loses nothing.
  for (let left = [...classesProblems({ renamed, deleted: [...deleted] }, own)]; left.length > 0;) {
    const { path, message } = left[0]!;
    const [key, at] = path;
    if (key === 'renamed') delete renamed[at];
    else deleted.delete([...deleted][at]!);
    notes.push([`${key}_classes`, `omitted: ${message.charAt(0).toLowerCase()}${message.slice(1)}`]);
    left = [...classesProblems({ renamed, deleted: [...deleted] }, own)];
  }
  return { renamed, deleted: [...deleted], notes };
}

function namesIn(migration: Migration, key: string, notes: Note[]): string[] {
  const value = migration[key];
  return (Array.isArray(value) ? value : []).filter((name): name is string => {
    const isName = typeof name === 'string' && isClassName(name);
    if (!isName) notes.push([key, 'has an entry that is not the name of a class: omitted']);
    return isName;
  });
}

function pairsIn(migration: Migration, key: string, notes: Note[]): { from: string; to: string; script: string }[] {
  const value = migration[key];
  return (Array.isArray(value) ? value : []).flatMap((entry: Migration | null) => {
    const { from, to, from_script: script = '' } = entry ?? {};
    if (typeof from === 'string' && typeof to === 'string' && isClassName(from) && isClassName(to))
      return [{ from, to, script: typeof script === 'string' ? script : '' }];
    notes.push([key, 'has an entry without the names of two classes: omitted']);
    return [];
  });
}
