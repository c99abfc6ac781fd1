// A project whose tsconfig.json `platform types` wrote, with packages of ours linked from a clone: no errors in them,
// and the Web's classes as workers use them.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { addToTsconfig } from '#core/config/tsconfig.ts';
import { checkProject, type Said } from './users-project.ts';

const packages = ['agent', 'dev', 'sveltekit', 'types', 'vite', 'worker'];
const written = addToTsconfig(null, { environmentFile: 'env.d.ts', file: 'tsconfig.json' });

const files = {
  'tsconfig.json': 'text' in written ? written.text : '',
  'env.d.ts': '',
  'src/packages.ts': `
import { createAgent } from '@platform-run/agent';
import { platform } from '@platform-run/worker';
import { createClient } from '@platform-run/worker/client';
export { createAgent, platform, createClient };
`,
  'src/web.ts': `
import type { PlatformWorker } from '@platform-run/types';
interface User { name: string }
export default {
  async fetch(request) {
    const user = await request.json<User>();
    const text: string = user.name;
    const untyped = await request.clone().json();
    const other = await new Response('{}').json<{ ok: boolean }>();
    const flag: boolean = other.ok;
    // @ts-expect-error: the type that was asked for has no such property
    user.age;
    return Response.json([text, untyped.anything, flag]);
  },
} satisfies PlatformWorker;
`,
};
let said: Said;

before(async () => {
  said = await checkProject(files, packages, ['zod', 'drizzle-orm', 'vite', '@types']);
});

test('packages of ours have no errors under the tsconfig.json that the program writes', () => {
  assert.equal(said('src/packages.ts'), '');
});

test('request.json and response.json take the type of what they read', () => {
  assert.equal(said('src/web.ts'), '');
});
