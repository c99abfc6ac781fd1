// Three handlers behind Caddy at 500 requests a second, and one of them is killed: nothing is lost but what was in
// flight there. It then comes back, and nothing is lost either.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { startComposePlatform, type ComposePlatform } from '#test/setup/compose-platform.ts';
import { startSteadyLoad } from '#test/setup/steady-load.ts';
import { eventually, type Json } from '#test/setup/whole-platform.ts';

const PER_SECOND = 500;
const PROJECTS = ['one', 'two', 'three', 'four', 'five', 'six'];
/** Requests that a handler answers at a time at this rate, by far. */
const IN_FLIGHT_MAX = 64;

let platform: ComposePlatform;

before(
  async () => {
    platform = await startComposePlatform(['compose.split.yaml', 'compose.handlers.yaml']);
    for (const name of PROJECTS) {
      const folder = path.join(platform.folder, name);
      mkdirSync(path.join(folder, 'src'), { recursive: true });
      writeFileSync(path.join(folder, 'platform.yaml'), `name: ${name}\nkind: worker\nstate:\n  STATE: counts\n`);
      const worker = `export default { fetch: () => new Response(${JSON.stringify(name)}) };\n`;
      writeFileSync(path.join(folder, 'src/index.ts'), worker);
      await platform.cli(folder, 'deploy', '--prod', '--json');
    }
  },
  { timeout: 300_000 },
);

after(() => platform.close());

const containerOf = async (service: string): Promise<string> =>
  (await platform.compose('ps', '--quiet', service)).trim();

/** Requests that a handler has answered, by its private port. */
async function servedBy(service: string): Promise<number> {
  const script = `fetch('http://127.0.0.1:8081/_platform/status', { headers: { authorization: 'Bearer ' + process.env.PRIVATE_PORT_TOKEN } })
    .then((answer) => answer.json()).then(({ engines }) => console.log(engines.reduce((sum, { status }) => sum + (status?.joined?.requests ?? 0), 0)))`;
  return Number(await platform.engine.docker('exec', await containerOf(service), 'node', '-e', script));
}

test('a deployment is known to all handlers, and each host has one of them', async () => {
  for (const name of PROJECTS) assert.equal((await platform.open(name)).text, name);
  const loads = PROJECTS.map((name) =>
    startSteadyLoad({ port: platform.ports.handler, host: `${name}.localhost`, perSecond: 20 }),
  );
  await eventually('500 answers', async () => loads.every(({ answered }) => answered > 80));
  await Promise.all(loads.map((load) => load.stop()));
  assert.deepEqual(
    loads.flatMap(({ failures }) => failures),
    [],
  );
  const served = await Promise.all(['handler', 'handler-2', 'handler-3'].map(servedBy));
  console.log(`Requests by handler: ${served.join(', ')}`);
  assert.ok(served.filter((count) => count > 0).length >= 2, served.join());
});

test('one of them is killed, and only what was in flight there is lost', async () => {
  const each = Math.ceil(PER_SECOND / PROJECTS.length);
  const loads = PROJECTS.map((name) =>
    startSteadyLoad({ port: platform.ports.handler, host: `${name}.localhost`, perSecond: each }),
  );
  const answered = (): number => loads.reduce((sum, load) => sum + load.answered, 0);
  const more = (count: number): Promise<unknown> => {
    const until = answered() + count;
    return eventually(`${count} answers`, async () => answered() >= until);
  };
  await more(1000);
  const served = await Promise.all(['handler', 'handler-2', 'handler-3'].map(servedBy));
  const victim = ['handler', 'handler-2', 'handler-3'][served.indexOf(Math.max(...served))]!;
  const id = await containerOf(victim);
  await platform.engine.docker('kill', '--signal', 'KILL', id);
  await more(3000);
  const lost = loads.flatMap(({ failures }) => failures);
  await platform.engine.docker('start', id);
  await eventually(
    'The handler again',
    async () =>
      (await platform.engine.docker('inspect', '--format', '{{.State.Health.Status}}', id)).trim() === 'healthy',
  );
  await more(2000);
  await Promise.all(loads.map((load) => load.stop()));
  const failures = loads.flatMap((load: Json) => load.failures as string[]);
  console.log(
    `${victim} killed: ${loads.reduce((sum, { sent }) => sum + sent, 0)} sent at ${PER_SECOND}/s, ${lost.length} lost, ${failures.length - lost.length} lost when it came back`,
  );
  assert.ok(lost.length <= IN_FLIGHT_MAX, lost.slice(0, 5).join('\n'));
  assert.deepEqual(failures.slice(lost.length, lost.length + 5), []);
  const moments = lost.map((failure) => Number(failure.split(' ', 1)[0]));
  assert.ok(moments.length === 0 || Math.max(...moments) - Math.min(...moments) < 2000, lost.join('\n'));
});
