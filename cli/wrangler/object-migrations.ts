// Converts Wrangler's `migrations` of durable objects: their history becomes the classes that are renamed, deleted or
// received from another project in the end. Pure.
import { isClassName } from '#core/bindings/object.ts';
import { classesOf, classesProblems } from '#core/bindings/object-classes.ts';
import type { OtherClass } from '#core/bindings/object-transfers.ts';

/** Result of a conversion. */
interface ImportedClasses {
  /** Former class names, and the names that replace them. */
  readonly renamed: Readonly<Record<string, string>>;
  readonly deleted: readonly string[];
  /** For a class: the class of another project whose objects it receives. */
  readonly received: Readonly<Record<string, OtherClass>>;
  /** Keys of migrations that were left out, with the reason. */
  readonly notes: readonly Note[];
}

type Migration = Readonly<Record<string, unknown>>;
type Note = readonly [key: string, note: string];

/**
 * @param own the classes of the worker that bindings name. @param projectNameOf the project for the name of a script.
 */
export function importedClasses(
  migrations: readonly Migration[],
  own: ReadonlySet<string>,
  projectNameOf: (script: string) => string,
): ImportedClasses {
  const notes: Note[] = [];
  const renamed: Record<string, string> = {};
  const deleted = new Set<string>();
  const received: Record<string, OtherClass> = {};
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
      deleted.delete(to);
      const project = projectNameOf(script);
      if (project === '') {
        notes.push(['transferred_classes', `the class ${to} has no from_script: omitted`]);
        continue;
      }
      received[to] = { project, class: from };
      notes.push([
        'transferred_classes',
        `deploy this project first, then ${project} with object_classes: { transferred: { ${from}: { project: <this project>, class: ${to} } } }`,
      ]);
    }
  }
  for (const name of made)
    if (!own.has(name)) notes.push(['new_classes', `no binding of durable_objects has the class ${name}: omitted`]);
  // The project has no objects here yet, so a reused name loses no data.
  const problems = (): ReturnType<typeof classesProblems> =>
    classesProblems(classesOf({ renamed, deleted: [...deleted], received }), own);
  for (let left = problems(); left.length > 0; left = problems()) {
    const { path, message } = left[0]!;
    const [key, at] = path;
    if (key === 'deleted') deleted.delete([...deleted][at]!);
    else delete (key === 'renamed' ? renamed : received)[at];
    notes.push([
      `${key === 'received' ? 'transferred' : key}_classes`,
      `omitted: ${message.charAt(0).toLowerCase()}${message.slice(1)}`,
    ]);
  }
  return { renamed, deleted: [...deleted], received, notes };
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
