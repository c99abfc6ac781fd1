// drizzle-orm and kysely as builders of SQL. Run by test/integration/packages.test.ts.
import { and, desc, eq, gt, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/sqlite-proxy';
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { Kysely, PostgresAdapter, DummyDriver, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';

const users = sqliteTable('users', {
  id: integer('id').primaryKey(),
  name: text('name').notNull(),
  age: integer('age'),
});
const posts = sqliteTable('posts', {
  id: integer('id').primaryKey(),
  userId: integer('user_id').references(() => users.id),
  title: text('title'),
});
const db = drizzle(async () => ({ rows: [[1, 'Ada', 36]] }), { schema: { users, posts } });
const kysely = new Kysely({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (given) => new PostgresIntrospector(given),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

export default {
  async fetch() {
    return Response.json({
      drizzle: db
        .select({ name: users.name, posts: sql`count(${posts.id})` })
        .from(users)
        .leftJoin(posts, eq(posts.userId, users.id))
        .where(and(gt(users.age, 30), eq(users.name, 'Ada')))
        .groupBy(users.id)
        .orderBy(desc(users.id))
        .limit(5)
        .toSQL(),
      rows: await db.select().from(users),
      kysely: kysely
        .selectFrom('person as p')
        .innerJoin('pet', 'pet.owner_id', 'p.id')
        .select(['p.id', 'pet.name'])
        .where('p.age', '>', 30)
        .orderBy('p.id')
        .compile(),
      insert: kysely.insertInto('person').values({ name: 'x' }).returning('id').compile().sql,
      run: await kysely.selectFrom('person').selectAll().execute(),
    });
  },
};
