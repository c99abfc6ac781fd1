// The routes over bindings as one typed app, for control/api/app.ts and the dashboard of `platform dev`. Both mounting
// apps put `resources` into the state (access.ts).
import type { Kind } from '#core/bindings/kinds.ts';
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { branchOnly, reads, type ResourceState } from './access.ts';
import { databaseCopies } from './database-copies.ts';
import { databaseImports } from './database-imports.ts';
import { databaseMigrations } from './database-migrations.ts';
import { databaseStatements } from './database-statements.ts';
import { databaseTables } from './database-tables.ts';
import { objects } from './objects.ts';
import { queues } from './queues.ts';
import { sandboxes } from './sandboxes.ts';
import { caches, files, state } from './storage.ts';
import { schedules, timers } from './timers.ts';
import { users } from './users.ts';
import { workflows } from './workflows.ts';

const listing = platform<unknown, ResourceState>().get(
  '/projects/:id/resources',
  {
    ...reads,
    summary:
      'Bindings of a deployment: databases, queues, workflows, state, files, timers, caches, sandboxes, users, durable objects',
    params: Type.Object({ id: Type.String() }),
    query: branchOnly,
    response: Type.Object({
      items: Type.Array(Type.Object({ kind: Type.String(), binding: Type.String(), resource: Type.String() })),
    }),
  },
  async (ctx) => {
    const question = { project: ctx.params.id, branch: ctx.query.branch, args: {} };
    return { items: [...(await ctx.state.resources.ask('resources.list', question)).resources] };
  },
);

const databases = platform<unknown, ResourceState>()
  .route('/', databaseTables)
  .route('/', databaseStatements)
  .route('/', databaseMigrations)
  .route('/', databaseCopies)
  .route('/', databaseImports);

/** The routes of each kind; a kind without routes is a type error. */
const byKind = {
  db: databases,
  queue: queues,
  workflow: workflows,
  state: state,
  fs: files,
  timer: timers,
  auth: users,
  cache: caches,
  sandbox: sandboxes,
  // They hold nothing.
  service: {},
  hyperdrive: {},
} satisfies Readonly<Record<Kind, object>>;

export const resources = platform<unknown, ResourceState>()
  .route('/', listing)
  .route('/', byKind.db)
  .route('/', byKind.queue)
  .route('/', byKind.workflow)
  .route('/', byKind.state)
  .route('/', byKind.fs)
  .route('/', byKind.timer)
  .route('/', schedules)
  .route('/', byKind.auth)
  .route('/', byKind.cache)
  .route('/', byKind.sandbox)
  .route('/', objects);
