// What a project uses, over three machines that share Postgres and a bucket and no folder: a build, previews,
// promotions, bindings, events and logs are the same on whichever machine a request arrives.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { EDGE_HEADER } from '#core/process/edge-proxy.ts';
import { startFleet, type Fleet, type FleetMachine } from '#test/setup/fleet.ts';
import { send } from '#test/setup/send.ts';
import { until } from '#test/setup/until.ts';
import type { Json } from '#test/setup/whole-platform.ts';

const yaml = `
name: shop
kind: worker
db: { DB: main }
fs: { FILES: files }
state: { KV: ledger }
queue: { JOBS: jobs }
timer: { TIMER: reminders }
`;
const workerOf = (version: string): string => `
const note = (env, what) => env.DB.prepare('INSERT INTO came (what) VALUES (?)').bind(what).run();
export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    const name = searchParams.get('name');
    if (pathname === '/prepare') await env.DB.exec('CREATE TABLE came (what TEXT)');
    if (pathname === '/write') {
      console.log('written on ' + name);
      await env.FILES.put(name, 'file of ' + name);
      await env.KV.put(name, 'state of ' + name);
      await env.JOBS.send('queue ' + name);
      await env.TIMER.set(name, { afterMs: 30 }, { payload: 'timer ' + name });
      await note(env, 'row ' + name);
    }
    if (pathname === '/read') {
      const file = await env.FILES.get(name);
      return Response.json([await file.text(), await env.KV.get(name)]);
    }
    if (pathname === '/came') {
      const { results } = await env.DB.prepare('SELECT what FROM came ORDER BY what').all();
      return Response.json(results.map(({ what }) => what));
    }
    return new Response('${version}');
  },
  message: (event, env) => note(env, event.payload),
  timer: (event, env) => note(env, event.payload),
};`;

let fleet: Fleet;
let project: string;
before(async () => {
  fleet = await startFleet({ variables: { BROKER_POLL_MS: '200' } });
});
after(() => fleet?.close());

async function ask(machine: FleetMachine, at: string, label = 'shop'): Promise<string> {
  const headers = { [EDGE_HEADER]: machine.environment['EDGE_TOKEN']! };
  const { status, text } = await send(machine.port, `${label}.${fleet.domains[0]!}`, at, { headers });
  assert.equal(status, 200, `${machine.name} ${at}: ${text}`);
  return text;
}

const askAll = (at: string, label?: string): Promise<string[]> =>
  Promise.all(fleet.machines.map((machine) => ask(machine, at, label)));

/** Deploys a version, with the words of `platform deploy`; its id. */
async function deploy(version: string, ...words: readonly string[]): Promise<string> {
  const source = mkdtempSync(path.join(fleet.folder, 'source-'));
  mkdirSync(path.join(source, 'src'));
  writeFileSync(path.join(source, 'platform.yaml'), yaml);
  writeFileSync(path.join(source, 'src/index.ts'), workerOf(version));
  const { stdout } = await fleet.api.cli(source, 'deploy', '--json', ...words);
  return (JSON.parse(stdout.trim().split('\n').at(-1)!) as { deployment: string }).deployment;
}

test('a preview, a promotion and a rollback are on each machine when they are confirmed', async () => {
  await deploy('one', '--prod');
  assert.deepEqual(await askAll('/'), ['one', 'one', 'one']);
  const { items } = await fleet.api.call('GET', '/projects');
  project = items.find(({ name }: Json) => name === 'shop').id;

  const second = await deploy('two', '--branch', 'next');
  assert.deepEqual(await askAll('/', 'shop--next'), ['two', 'two', 'two']);
  assert.deepEqual(await askAll('/'), ['one', 'one', 'one']);

  await fleet.api.call('POST', `/deployments/${second}/promote`, {});
  assert.deepEqual(await askAll('/'), ['two', 'two', 'two']);
  await fleet.api.call('POST', `/projects/${project}/rollback`, {});
  assert.deepEqual(await askAll('/'), ['one', 'one', 'one']);
});

test('files, state and rows that one machine wrote are read on each, and events of each one arrive', async () => {
  await ask(fleet.machines[0]!, '/prepare');
  for (const machine of fleet.machines) await ask(machine, `/write?name=${machine.name}`);
  for (const name of ['m1', 'm2', 'm3'])
    for (const text of await askAll(`/read?name=${name}`))
      assert.deepEqual(JSON.parse(text), [`file of ${name}`, `state of ${name}`]);
  await until(async () => JSON.parse(await ask(fleet.machines[1]!, '/came')).length >= 9);
  for (const text of await askAll('/came'))
    assert.deepEqual(JSON.parse(text), [
      'queue m1',
      'queue m2',
      'queue m3',
      'row m1',
      'row m2',
      'row m3',
      'timer m1',
      'timer m2',
      'timer m3',
    ]);
});

test('lines that workers log on each machine are in the log of the project', async () => {
  const lines = await until(async () => {
    const { items } = await fleet.api.call('GET', `/projects/${project}/logs?search=written`);
    return items.length >= 3 && items.map(({ text }: Json) => text);
  });
  assert.deepEqual(lines.toSorted(), ['written on m1', 'written on m2', 'written on m3']);
});
