// Routes for the migrations of a database: list the applied migrations, and apply pending migrations.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { branchOnly, reads, writes, type ResourceState } from './access.ts';
import { ask, ofDatabase, WHOLE_MS_MAX } from './database-asking.ts';

export const databaseMigrations = platform<unknown, ResourceState>()
  .get(
    '/projects/:id/databases/:database/migrations',
    {
      ...reads,
      summary: 'Which migrations were applied, and which are pending',
      params: ofDatabase,
      query: branchOnly,
      response: Type.Object({ applied: Type.Array(Type.String()), pending: Type.Array(Type.String()) }),
    },
    async (ctx) => {
      const { applied, pending } = await ask(ctx, 'db.migrations', {});
      return { applied: [...applied], pending: [...pending] };
    },
  )
  .post(
    '/projects/:id/databases/:database/migrate',
    {
      ...writes,
      summary: 'Apply pending migrations',
      params: ofDatabase,
      query: branchOnly,
      response: Type.Object({ applied: Type.Array(Type.String()) }),
    },
    async (ctx) => ({ applied: [...(await ask(ctx, 'db.migrate', {}, WHOLE_MS_MAX)).applied] }),
  );
