// Transactions that are still open when their invocation is over: whatever ended it, the database is free for others at
// once, over every store.
import assert from 'node:assert/strict';
import { request, type ClientRequest } from 'node:http';
import { after, before, beforeEach, test } from 'node:test';
import { type DatabaseLimits, defaultLimits } from '#core/limits.ts';
import { databaseOps } from '#core/database-request.ts';
import { noStores } from '#test/setup/no-stores.ts';
import { onlyInIsolates, startHandler, type TestHandler } from '#test/setup/handler.ts';
import type { DatabaseBindingCase } from './database-binding.ts';

/** Nothing here ends by the database's own bounds. */
const limits: DatabaseLimits = { ...defaultLimits.database, transactionMs: 3_600_000, waitMs: 3_600_000 };
const options = { timeout: 120_000 };
/** In Node nothing says when an invocation is over: the database's own bounds end its transactions. */
const ofInvocations = { ...options, ...onlyInIsolates('invocations end in isolates alone') };

const worker = `
const forever = () => new Promise(() => {});
export default {
  async fetch(request, { DB }, context) {
    const { pathname } = new URL(request.url);
    const inside = (work) => DB.transaction(async (tx) => {
      await tx.prepare('INSERT INTO names VALUES (?)').bind(pathname).run();
      console.log(pathname, 'is inside');
      await work();
    });
    const untilGone = () => new Promise((_, reject) => {
      request.signal.throwIfAborted();
      request.signal.addEventListener('abort', () => reject(request.signal.reason));
    });
    const begun = async (work) => {
      await DB.prepare('BEGIN').run();
      await DB.prepare('INSERT INTO names VALUES (?)').bind(pathname).run();
      console.log(pathname, 'is inside');
      await work();
    };
    if (pathname === '/begins') await begun(untilGone);
    else if (pathname === '/leaves') { await begun(() => {}); return Response.json(null); }
    else if (pathname === '/sleeps') await inside(untilGone);
    else if (pathname === '/waits') { console.log('/waits is here'); await inside(untilGone); }
    else if (pathname === '/never') await inside(forever);
    else if (pathname === '/spins') await inside(() => { for (;;); });
    else if (pathname === '/throws') { void inside(forever); await DB.prepare('SELECT 1').all(); throw new Error('no'); }
    else if (pathname === '/forgets') { void inside(forever); await DB.prepare('SELECT 1').all(); }
    else if (pathname === '/later') context.waitUntil(inside(() => {}).then(() => console.log('/later is written')));
    else await DB.prepare('INSERT INTO names VALUES (?)').bind(pathname).run();
    return Response.json((await DB.prepare('SELECT name FROM names ORDER BY name').all()).results.map(({ name }) => name));
  },
};`;

/** Registers the suite's tests over the store that `open` gives. */
export function databaseLeftOpenContract(open: (limits: DatabaseLimits) => Promise<DatabaseBindingCase>): void {
  let handler: TestHandler;
  let subject: DatabaseBindingCase;
  const place = { namespace: 'shop', resource: 'main' };

  before(async () => {
    subject = await open(limits);
    const cpu = { ...defaultLimits.cpu, http: { ...defaultLimits.cpu.http, free: 200 } };
    handler = await startHandler(
      { shop: { files: worker, yaml: 'db:\n  DB: main\n' } },
      { cpu },
      { stores: { ...noStores, database: subject.store } },
    );
  });
  after(async () => {
    await handler.close();
    await subject.close();
  });
  beforeEach(async () => {
    handler.logs.length = 0;
    await subject.store.remove(place);
    await subject.store.run(place, databaseOps.exec, 0, JSON.stringify(['CREATE TABLE names (name TEXT)']));
  });

  /** A request that can be given up. */
  function begin(path: string): ClientRequest {
    const sent = request({ port: handler.port, path, headers: { host: 'shop.localhost' } });
    sent.on('error', () => {});
    sent.end();
    return sent;
  }

  async function write(): Promise<unknown> {
    return (await handler.fetch('shop', '/write')).json();
  }

  for (const [what, path] of [
    ['of a client that went away, whose handler ends by the signal', '/sleeps'],
    ['of such a client, where a statement began it', '/begins'],
  ] as const)
    test(`a transaction is rolled back with its invocation: ${what}`, ofInvocations, async () => {
      const sent = begin(path);
      await handler.logged('shop', new RegExp(`${path} is inside`));
      sent.destroy();
      assert.deepEqual(await write(), ['/write']);
    });

  test(
    'a transaction is rolled back with its invocation: of a client that went away while it waited for another, likewise',
    ofInvocations,
    async () => {
      const first = begin('/sleeps');
      await handler.logged('shop', /\/sleeps is inside/);
      const second = begin('/waits');
      await handler.logged('shop', /\/waits is here/);
      second.destroy();
      await new Promise((resolve) => second.on('close', resolve));
      first.destroy();
      assert.deepEqual(await write(), ['/write']);
    },
  );

  for (const [what, path, status] of [
    ['of a handler that never answers', '/never', 500],
    ['of a handler that exceeds its CPU budget', '/spins', 500],
    ['of a handler that throws beside it', '/throws', 500],
    ['of a handler that answers beside it', '/forgets', 200],
    ['of a handler that sends BEGIN and never ends it', '/leaves', 200],
  ] as const)
    test(`a transaction is rolled back with its invocation: ${what}`, ofInvocations, async () => {
      assert.equal((await handler.fetch('shop', path)).status, status);
      assert.deepEqual(await write(), ['/write']);
    });

  test('a transaction that waitUntil was given goes on after the answer', options, async () => {
    await handler.fetch('shop', '/later');
    await handler.logged('shop', /\/later is written/);
    assert.deepEqual(await write(), ['/later', '/write']);
  });
}
