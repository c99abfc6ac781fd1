// Libraries written for D1, unmodified, on the db binding.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { noStores } from '#test/setup/no-stores.ts';
import { startDatabases, type TestDatabases } from '#test/setup/databases.ts';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

const drizzle = `
import { drizzle } from 'drizzle-orm/d1';
import { blob, index, integer, primaryKey, real, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { count, desc, eq, relations, sql } from 'drizzle-orm';

const users = sqliteTable('users', {
  id: integer('id').primaryKey({ autoIncrement: true }),
  name: text('name').notNull().unique(),
  isAdmin: integer('is_admin', { mode: 'boolean' }).notNull().default(false),
  createdAt: integer('created_at', { mode: 'timestamp_ms' }).notNull().default(new Date(0)),
  settings: text('settings', { mode: 'json' }),
  picture: blob('picture', { mode: 'buffer' }),
  score: real('score'),
});
const posts = sqliteTable('posts', {
  id: integer('id').primaryKey(),
  authorId: integer('author_id').notNull().references(() => users.id),
  title: text('title').notNull(),
}, (table) => [index('posts_author').on(table.authorId)]);
const tags = sqliteTable('tags', { id: integer('id').primaryKey(), name: text('name').notNull() });
const postTags = sqliteTable('post_tags', { postId: integer('post_id').notNull().references(() => posts.id), tagId: integer('tag_id').notNull().references(() => tags.id) }, (table) => [primaryKey({ columns: [table.postId, table.tagId] })]);
const schema = {
  users, posts, tags, postTags,
  usersRelations: relations(users, ({ many }) => ({ posts: many(posts) })),
  postsRelations: relations(posts, ({ one, many }) => ({ author: one(users, { fields: [posts.authorId], references: [users.id] }), postTags: many(postTags) })),
  postTagsRelations: relations(postTags, ({ one }) => ({ post: one(posts, { fields: [postTags.postId], references: [posts.id] }), tag: one(tags, { fields: [postTags.tagId], references: [tags.id] }) })),
};

const routes = {
  async crud(db) {
    const inserted = await db.insert(users).values({ name: 'ann', isAdmin: true, createdAt: new Date(1234), settings: { a: [1] }, score: 1.5, picture: Buffer.from([1, 255]) }).returning();
    await db.insert(users).values([{ name: 'bob' }, { name: 'cid' }]);
    await db.update(users).set({ score: sql\`coalesce(\${users.score}, 0) + 1\` }).where(eq(users.name, 'bob'));
    const conflict = await db.insert(users).values({ name: 'bob', score: 9 }).onConflictDoUpdate({ target: users.name, set: { score: 9 } }).returning({ score: users.score });
    const deleted = await db.delete(users).where(eq(users.name, 'cid')).returning({ name: users.name });
    const found = await db.select({ name: users.name, n: count() }).from(users).groupBy(users.name).orderBy(desc(users.name)).all();
    const one = await db.select().from(users).where(eq(users.name, 'nobody')).get();
    const { picture, createdAt, ...first } = inserted[0];
    return { first, picture: [...picture], createdAt: createdAt.getTime(), conflict, deleted, found, one: one ?? null, run: (await db.run(sql\`UPDATE users SET score = 0\`)).meta.changes };
  },
  async relations(db) {
    const [post] = await db.insert(posts).values({ authorId: 1, title: 'first' }).returning();
    await db.insert(tags).values([{ id: 1, name: 'x' }, { id: 2, name: 'y' }]);
    await db.insert(postTags).values([{ postId: post.id, tagId: 1 }, { postId: post.id, tagId: 2 }]);
    return db.query.users.findMany({
      columns: { name: true },
      with: { posts: { columns: { title: true }, with: { postTags: { columns: {}, with: { tag: true } } } } },
      orderBy: users.id,
    });
  },
  async batch(db) {
    const [inserted, all] = await db.batch([db.insert(users).values({ name: 'dan' }).returning({ name: users.name }), db.select({ name: users.name }).from(users)]);
    const failed = await db.batch([db.insert(users).values({ name: 'eve' }), db.insert(users).values({ name: 'dan' })]).catch((error) => error.message);
    return { inserted, all, failed, after: await db.select({ n: count() }).from(users) };
  },
  async transaction(db) {
    const names = async (on) => (await on.select({ name: tags.name }).from(tags).orderBy(tags.name)).map(({ name }) => name);
    const add = (on, name) => on.insert(tags).values({ name });
    await db.delete(postTags);
    await db.delete(tags);
    const kept = await db.transaction(async (tx) => {
      await add(tx, 'kept');
      await tx.transaction((nested) => add(nested, 'nested'));
      await tx.transaction(async (nested) => { await add(nested, 'undone'); nested.rollback(); }).catch(() => {});
      return names(tx);
    }, { behavior: 'immediate' });
    const thrown = await db.transaction(async (tx) => { await add(tx, 'thrown'); throw new Error('no'); }).catch((error) => error.message);
    const failed = await db.transaction(async (tx) => { await add(tx, 'first'); await tx.insert(posts).values({ authorId: 99, title: 'x' }); }).catch((error) => error.cause.message);
    await Promise.all(['x', 'y'].map((name) => db.transaction((tx) => add(tx, name))));
    return { kept, thrown, failed, after: await names(db) };
  },
};

export default {
  async fetch(request, env) {
    const db = drizzle(env.DB, { schema });
    try { return Response.json(await routes[new URL(request.url).pathname.slice(1)](db)); }
    catch (error) { return new Response(error.stack + ' ' + error.cause, { status: 500 }); }
  },
};`;

// What drizzle-kit writes: statements with its break points between them, and a table rebuilt.
const migrations = [
  [
    '0000_first.sql',
    'CREATE TABLE `users` (\n\t`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,\n\t`name` text NOT NULL,\n\t`is_admin` integer DEFAULT false NOT NULL,\n\t`created_at` integer DEFAULT 0 NOT NULL,\n\t`settings` text,\n\t`picture` blob\n);\n--> statement-breakpoint\nCREATE UNIQUE INDEX `users_name_unique` ON `users` (`name`);--> statement-breakpoint\nCREATE TABLE `posts` (\n\t`id` integer PRIMARY KEY NOT NULL,\n\t`author_id` integer NOT NULL,\n\t`title` text NOT NULL,\n\tFOREIGN KEY (`author_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action\n);',
  ],
  [
    '0001_second.sql',
    'ALTER TABLE `users` ADD `score` real;--> statement-breakpoint\nCREATE TABLE `tags` (`id` integer PRIMARY KEY NOT NULL, `name` text NOT NULL);--> statement-breakpoint\nCREATE TABLE `post_tags` (`post_id` integer NOT NULL, `tag_id` integer NOT NULL, PRIMARY KEY(`post_id`, `tag_id`), FOREIGN KEY (`post_id`) REFERENCES `posts`(`id`), FOREIGN KEY (`tag_id`) REFERENCES `tags`(`id`));--> statement-breakpoint\nPRAGMA foreign_keys=OFF;--> statement-breakpoint\nCREATE TABLE `__new_posts` (\n\t`id` integer PRIMARY KEY NOT NULL,\n\t`author_id` integer NOT NULL,\n\t`title` text NOT NULL,\n\tFOREIGN KEY (`author_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade\n);\n--> statement-breakpoint\nINSERT INTO `__new_posts`("id", "author_id", "title") SELECT "id", "author_id", "title" FROM `posts`;--> statement-breakpoint\nDROP TABLE `posts`;--> statement-breakpoint\nALTER TABLE `__new_posts` RENAME TO `posts`;--> statement-breakpoint\nPRAGMA foreign_keys=ON;--> statement-breakpoint\nCREATE INDEX `posts_author` ON `posts` (`author_id`);',
  ],
] as const;

// The way dialects of D1 for Kysely are made: one connection that prepares, binds and takes `meta` apart.
const kysely = `
import { CompiledQuery, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, sql } from 'kysely';

class D1Driver {
  constructor(database) { this.database = database; }
  async init() {}
  async acquireConnection() {
    const { database } = this;
    return {
      async executeQuery({ sql, parameters }) {
        const results = await database.prepare(sql).bind(...parameters).all();
        if (results.error) throw new Error(results.error);
        const affected = results.meta.changes > 0 ? BigInt(results.meta.changes) : undefined;
        return { insertId: results.meta.last_row_id == null ? undefined : BigInt(results.meta.last_row_id), rows: results.results ?? [], numAffectedRows: affected };
      },
    };
  }
  // As in the drivers of Kysely.
  async beginTransaction(connection) { await connection.executeQuery(CompiledQuery.raw('begin')); }
  async commitTransaction(connection) { await connection.executeQuery(CompiledQuery.raw('commit')); }
  async rollbackTransaction(connection) { await connection.executeQuery(CompiledQuery.raw('rollback')); }
  async releaseConnection() {}
  async destroy() {}
}
async function transactions(db) {
  const add = (on, name) => on.insertInto('pets').values({ name }).execute();
  await db.transaction().execute((trx) => add(trx, 'kept'));
  const thrown = await db.transaction().execute(async (trx) => { await add(trx, 'thrown'); throw new Error('no'); }).catch((error) => error.message);
  return [thrown, (await db.selectFrom('pets').select('name').orderBy('id').execute()).map(({ name }) => name)];
}
export default {
  async fetch(_request, env) {
    const db = new Kysely({ dialect: {
      createAdapter: () => new SqliteAdapter(), createDriver: () => new D1Driver(env.DB),
      createIntrospector: (db) => new SqliteIntrospector(db), createQueryCompiler: () => new SqliteQueryCompiler(),
    } });
    try {
      await db.schema.createTable('pets').ifNotExists().addColumn('id', 'integer', (column) => column.primaryKey()).addColumn('name', 'text').execute();
      const inserted = await db.insertInto('pets').values([{ name: 'rex' }, { name: 'tom' }]).executeTakeFirst();
      const updated = await db.updateTable('pets').set({ name: 'max' }).where('name', '=', 'rex').executeTakeFirst();
      const tables = await db.introspection.getTables();
      return Response.json({
        insertId: String(inserted.insertId), updated: String(updated.numUpdatedRows),
        rows: await db.selectFrom('pets').selectAll().orderBy('id').execute(),
        columns: tables.find((table) => table.name === 'pets').columns.map((column) => column.name),
        raw: (await sql\`SELECT count(*) AS n FROM pets\`.execute(db)).rows,
        transactions: await transactions(db),
      });
    } catch (error) { return new Response(error.stack, { status: 500 }); }
  },
};`;

let handler: TestHandler;
let databases: TestDatabases;

before(async () => {
  databases = await startDatabases();
  const yaml = 'db:\n  DB: main\ncompatibility_flags: [nodejs_compat]\n';
  const stores = { ...noStores, database: databases.client };
  handler = await startHandler(
    {
      drizzle: { files: { 'src/index.js': drizzle }, yaml: `main: src/index.js\n${yaml}` },
      kysely: { files: { 'src/index.js': kysely }, yaml: `main: src/index.js\n${yaml}` },
    },
    {},
    { stores },
  );
  await databases.client.migrate({ namespace: 'drizzle', resource: 'main' }, migrations);
});
after(async () => {
  await handler.close();
  await databases.close();
});

async function ask(project: string, path: string): Promise<unknown> {
  const response = await handler.fetch(project, path);
  assert.equal(response.status, 200, response.text);
  return response.json();
}

test('drizzle reads and writes every type on a schema that drizzle-kit migrated', async () => {
  assert.deepEqual(await ask('drizzle', '/crud'), {
    first: { id: 1, name: 'ann', isAdmin: true, settings: { a: [1] }, score: 1.5 },
    picture: [1, 255],
    createdAt: 1234,
    conflict: [{ score: 9 }],
    deleted: [{ name: 'cid' }],
    found: [
      { name: 'bob', n: 1 },
      { name: 'ann', n: 1 },
    ],
    one: null,
    run: 2,
  });
});

test('drizzle follows relations', async () => {
  assert.deepEqual(await ask('drizzle', '/relations'), [
    {
      name: 'ann',
      posts: [{ title: 'first', postTags: [{ tag: { id: 1, name: 'x' } }, { tag: { id: 2, name: 'y' } }] }],
    },
    { name: 'bob', posts: [] },
  ]);
});

test('a batch of drizzle that fails leaves nothing behind', async () => {
  assert.deepEqual(await ask('drizzle', '/batch'), {
    inserted: [{ name: 'dan' }],
    all: [{ name: 'ann' }, { name: 'bob' }, { name: 'dan' }],
    failed: 'D1_ERROR: UNIQUE constraint failed: users.name: SQLITE_CONSTRAINT',
    after: [{ n: 3 }],
  });
});

test('transactions of drizzle commit and roll back, also nested and concurrent ones', async () => {
  assert.deepEqual(await ask('drizzle', '/transaction'), {
    kept: ['kept', 'nested'],
    thrown: 'no',
    failed: 'D1_ERROR: FOREIGN KEY constraint failed: SQLITE_CONSTRAINT',
    after: ['kept', 'nested', 'x', 'y'],
  });
});

test('a dialect of Kysely for D1 reads, writes, introspects and has transactions', async () => {
  assert.deepEqual(await ask('kysely', '/'), {
    insertId: '2',
    updated: '1',
    rows: [
      { id: 1, name: 'max' },
      { id: 2, name: 'tom' },
    ],
    columns: ['id', 'name'],
    raw: [{ n: 2 }],
    transactions: ['no', ['max', 'tom', 'kept']],
  });
});
