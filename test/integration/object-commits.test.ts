// What a durable object wrote in one event is there in the next, also where SQL alone wrote it, or nothing waits for
// it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startDatabases } from '#test/setup/databases.ts';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';
import { noStores } from '#test/setup/no-stores.ts';

const worker = `
import { DurableObject } from 'cloudflare:workers';
export class Notes extends DurableObject {
  create() { this.ctx.storage.sql.exec('CREATE TABLE note (id INTEGER PRIMARY KEY)'); }
  add() { this.ctx.storage.sql.exec('INSERT INTO note DEFAULT VALUES'); }
  all() { return this.ctx.storage.sql.exec('SELECT id FROM note').toArray(); }
  unconfirmed() { this.ctx.storage.put('key', 'value', { allowUnconfirmed: true }); }
  key() { return this.ctx.storage.get('key'); }
}
export default {
  async fetch(request, { NOTES }) {
    return Response.json((await NOTES.getByName('mine')[new URL(request.url).pathname.slice(1)]()) ?? null);
  },
};`;

let handler: TestHandler;
let databases: Awaited<ReturnType<typeof startDatabases>>;

before(async () => {
  databases = await startDatabases();
  handler = await startHandler(
    { app: { files: worker, yaml: 'object: { NOTES: Notes }' } },
    {},
    { stores: { ...noStores, database: databases.client } },
  );
});
after(async () => {
  await handler.close();
  await databases.close();
});

const call = async (method: string): Promise<string> => (await handler.fetch('app', `/${method}`)).text;

test('a table that SQL creates and fills in two events is there in a third', async () => {
  await call('create');
  await call('add');
  assert.equal(await call('all'), '[{"id":1}]');
});

test('a value that nothing waits for is stored, although its event is over', async () => {
  await call('unconfirmed');
  assert.equal(await call('key'), '"value"');
});
