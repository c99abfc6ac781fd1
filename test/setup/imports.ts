// Imports into the databases of a service under test: files that tests write, followed to their end.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ImportState } from '#runtime/databases/protocol/frames.ts';
import { at, type TestDatabases } from '#test/setup/databases.ts';

let count = 0;

/** Imports a file, or text that is written into one, and waits for its end. */
export async function importInto(
  { client, directory }: Pick<TestDatabases, 'client' | 'directory'>,
  what: { readonly text?: string | Uint8Array; readonly file?: string; readonly replace?: boolean },
  place = at,
): Promise<ImportState> {
  const id = `import-${count++}`;
  const file = what.file ?? join(directory, id);
  if (what.text !== undefined) writeFileSync(file, what.text);
  let state = await client.import(place, { id, file, replace: what.replace === true });
  while (state.state === 'running') state = await client.import(place, { id, waitMs: 1000 });
  return state;
}
