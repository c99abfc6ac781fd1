// `getPlatformEnv()` of @platform-run/dev in a plain Node program, beside a `platform dev`.
import assert from 'node:assert/strict';
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { runChild, type ChildEnd } from '#test/setup/node-program.ts';
import { createDashboardProject } from '#test/setup/dashboard-project.ts';
import { startDevHere, type TestDev } from '#test/setup/dev.ts';

let folder: string;
let dev: TestDev;

before(async () => {
  folder = await createDashboardProject({
    'src/index.ts': `export default {
      fetch: () => new Response('up'),
      message({ payload }) { console.log('message ' + JSON.stringify(payload)); },
    };`,
    'migrations/0001_guests.sql': 'CREATE TABLE guests (id INTEGER PRIMARY KEY, name TEXT);',
    '.env': 'GREETING=hello\n',
  });
  dev = await startDevHere(folder);
  await dev.printed(/Dashboard http/);
});
after(async () => {
  await dev.close();
  await rm(folder, { recursive: true, force: true });
});

/** Runs `code`, which has `env`, in a folder; the last line that it prints is the JSON of what it returns. */
async function run(code: string, options: { cwd?: string; env?: Record<string, string> } = {}): Promise<ChildEnd> {
  return runChild(
    `import { getPlatformEnv } from ${JSON.stringify(join(import.meta.dirname, '../../packages/dev/index.ts'))};
     const env = await getPlatformEnv();
     console.log(JSON.stringify(await (async () => { ${code} })()));`,
    { cwd: folder, ...options },
  );
}

test('a Node program in the folder of a project reaches its databases, state and queues', async () => {
  const { output, code } = await run(`
    await env.DB.prepare('INSERT INTO guests (name) VALUES (?)').bind('ann').run();
    await env.KV.put('theme', 'dark');
    await env.JOBS.send({ from: 'node' });
    return [env.vars.GREETING, env.GREETING, await env.DB.prepare('SELECT name FROM guests').all().then(({ results }) => results), await env.KV.get('theme')];
  `);
  assert.deepEqual([code, JSON.parse(output)], [0, ['hello', 'hello', [{ name: 'ann' }], 'dark']]);
  await dev.printed(/message {"from":"node"}/);
});

test('a folder inside of the project is in it, and the address is for the own user alone', async () => {
  await mkdir(join(folder, 'scripts'), { recursive: true });
  const { output } = await run(`return Object.keys(env).includes('FILES');`, { cwd: join(folder, 'scripts') });
  assert.equal(output, 'true');
  const state = join(folder, '.platform/dev');
  const file = (await readdir(state)).find((name) => name.startsWith('mock-server-'))!;
  const { mode } = await stat(join(state, file));
  assert.equal(mode & 0o777, 0o600);
});

test('a wrong token, no token and no platform are said with what to do', async () => {
  const url = 'http://127.0.0.1:1';
  const [, port] = /Dashboard http:\/\/127\.0\.0\.1:(\d+)/.exec(dev.output)!;
  const said = async (env: Record<string, string>, cwd = folder): Promise<string> =>
    (await run('return 1;', { env, cwd })).errors;
  assert.match(await said({ PLATFORM_MOCK_SERVER_URL: url }), /PLATFORM_MOCK_SERVER_TOKEN is not: set both/);
  assert.match(
    await said({ PLATFORM_MOCK_SERVER_URL: url, PLATFORM_MOCK_SERVER_TOKEN: 'x' }),
    /There is no platform at http:\/\/127\.0\.0\.1:1 .*is `platform dev` still running\?/,
  );
  assert.match(
    await said({ PLATFORM_MOCK_SERVER_URL: `http://127.0.0.1:${port}`, PLATFORM_MOCK_SERVER_TOKEN: 'x' }),
    /The mock server requires `Authorization: Bearer <PLATFORM_MOCK_SERVER_TOKEN>`/,
  );
  assert.match(
    await said({ PLATFORM_MOCK_SERVER_URL: 'https://127.0.0.1', PLATFORM_MOCK_SERVER_TOKEN: 'x' }),
    /must begin with http:\/\/ or unix:/,
  );
  const elsewhere = join(folder, '..', `${Date.now()}-elsewhere`);
  await mkdir(elsewhere);
  try {
    assert.match(await said({}, elsewhere), /No platform found: start `platform dev`/);
    // Two projects of one workspace.
    await mkdir(join(elsewhere, '.platform/dev'), { recursive: true });
    for (const name of ['a', 'b']) await writeFile(join(elsewhere, `.platform/dev/mock-server-${name}.json`), '{}');
    assert.match(await said({}, elsewhere), /Several projects run in .*mock-server-a\.json, mock-server-b\.json/);
  } finally {
    await rm(elsewhere, { recursive: true });
  }
});
