// Which listener a handler opens, and where uWebSockets.js is looked for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseListener } from '#runtime/engine/http/choose-listener.ts';
import { openNodeListener } from '#runtime/engine/http/listener-node.ts';
import type { loadUws } from '#runtime/engine/http/listener-uws.ts';

/** A loader that finds a library, or none, and keeps where it looked. */
function loader(found: boolean): { load: typeof loadUws; asked: string[] } {
  const asked: string[] = [];
  const load: typeof loadUws = (where, dataFolder) => {
    asked.push(`${where} ${dataFolder}`);
    return found ? { uws: {} as never } : { uws: null, reason: 'uWebSockets.js is not installed' };
  };
  return { load, asked };
}

test('`node` opens node:http and loads nothing', async () => {
  const { load, asked } = loader(true);
  assert.deepEqual(await chooseListener('node', '/data', load), {
    open: openNodeListener,
    reason: 'HANDLER_LISTENER is node',
  });
  assert.deepEqual(asked, []);
});

test('`auto` opens an installed uWebSockets.js, and node:http with a reason without one', async () => {
  const installed = loader(true);
  const { open, reason } = await chooseListener('auto', '/data', installed.load);
  assert.notEqual(open, openNodeListener);
  assert.equal(reason, null);
  const missing = loader(false);
  assert.deepEqual(await chooseListener('auto', '/data', missing.load), {
    open: openNodeListener,
    reason: 'uWebSockets.js is not installed',
  });
  assert.deepEqual([...installed.asked, ...missing.asked], ['installed /data', 'installed /data']);
});

test('`uws` also opens the copy of the benchmarks, and is an error without any', async () => {
  const copied = loader(true);
  assert.notEqual((await chooseListener('uws', '/data', copied.load)).open, openNodeListener);
  const missing = loader(false);
  await assert.rejects(chooseListener('uws', '/data', missing.load), {
    message: 'HANDLER_LISTENER is uws, but uWebSockets.js does not load: uWebSockets.js is not installed',
  });
  assert.deepEqual([...copied.asked, ...missing.asked], ['anywhere /data', 'anywhere /data']);
});
