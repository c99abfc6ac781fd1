// Operations that import a file of the data folder into a database, and report or cancel the import.
import { toName } from '../bindings/arguments.ts';
import { database, refused } from './database-scope.ts';
import type { OperationsOf, RequestScope } from './request-scope.ts';
import { toFileIn } from './transit-files.ts';

/** How long a response waits for the end of an import. */
const IMPORT_WAIT_MS = 1000;

export const importOperations = {
  async 'db.import'(scope) {
    const { databases, place } = await database(scope);
    const { replace, file } = scope.args;
    const source = toFileIn(scope.deps.folder, file);
    const what = { id: toImportId(scope), file: source, replace: replace === true, waitMs: IMPORT_WAIT_MS };
    return databases.import(place, what).catch(refused);
  },
  async 'db.import-state'(scope) {
    const { databases, place } = await database(scope);
    const { wait, cancel } = scope.args;
    const what = { id: toImportId(scope), cancel: cancel === true, ...(wait === true && { waitMs: IMPORT_WAIT_MS }) };
    return databases.import(place, what).catch(refused);
  },
} satisfies Partial<OperationsOf<'db'>>;

function toImportId({ args }: RequestScope): string {
  return toName(args['id'], 'The id of the import', 64);
}
