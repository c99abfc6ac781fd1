// Operations on the migrations of a database: listing and applying them.
import { database } from './database-scope.ts';
import type { OperationsOf } from './request-scope.ts';

export const migrationOperations = {
  async 'db.migrations'(scope) {
    const { databases, place, files } = await database(scope);
    const { applied, pending } = await databases.migrations(place, files);
    return { applied, pending };
  },
  async 'db.migrate'(scope) {
    const { databases, place, files } = await database(scope);
    return { applied: await databases.migrate(place, files) };
  },
} satisfies Partial<OperationsOf<'db'>>;
