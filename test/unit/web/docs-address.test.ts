// Where the dashboard's link to the documentation leads.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { docsAddress } from '#web/serve/docs-address.ts';

for (const [path, host, docs, expected] of [
  ['/docs/', 'localhost:3002', { url: '', port: 3005 }, 'http://localhost:3005/'],
  ['/docs', '192.168.1.4:3002', { url: '', port: 3005 }, 'http://192.168.1.4:3005/'],
  ['/docs/cli?a=1', '[::1]:3002', { url: '', port: 3005 }, 'http://[::1]:3005/cli?a=1'],
  ['/docs/cli', 'app.example.com', { url: 'https://docs.example.com/', port: 3005 }, 'https://docs.example.com/cli'],
  ['/docs//evil.example', 'localhost', { url: '', port: 3005 }, 'http://localhost:3005/evil.example'],
  ['/docs/', 'localhost:3002', { url: 'https://docs.example.com', port: null }, null],
  ['/docs/', 'no host', { url: '', port: 3005 }, null],
  ['/documents', 'localhost', { url: '', port: 3005 }, null],
  ['/', 'localhost', { url: '', port: 3005 }, null],
] as const)
  test(`${path} at ${host} leads to ${expected}`, () => assert.equal(docsAddress(path, host, docs), expected));
