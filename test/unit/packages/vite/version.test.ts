// The Vite plugin in a project whose Vite is too old for it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { platform } from '#packages/vite/index.ts';

type ConfigHook = (this: object, user: object, environment: { command: string; mode: string }) => unknown;

function configure(meta: object): () => unknown {
  const hook = platform().find(({ name }) => name === 'platform')!.config as unknown as ConfigHook;
  return () => hook.call({ meta }, { root: '/nowhere' }, { command: 'build', mode: 'production' });
}

test('an earlier Vite is named, with the one that is needed', () => {
  assert.throws(configure({ viteVersion: '7.3.1' }), {
    message: 'platform() needs Vite 8 or later, and this is Vite 7.3.1: npm install --save-dev vite@8',
  });
  assert.throws(configure({ viteVersion: '8.3.8' }), /^Error: platform\(\) found no worker in \/nowhere/);
});
