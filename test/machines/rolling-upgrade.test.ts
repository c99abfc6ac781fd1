// Three machines are upgraded one by one under load, by `platform upgrade --rolling` on each of them at once: no
// request is lost, and WebSockets close with 1012. A version that does not start stops it there. Prints the counts.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { makeCurrent } from '#operations/upgrade/releases.ts';
import { copyProgram, installProgram } from '#test/setup/fleet-programs.ts';
import { openSockets, startLoad } from '#test/setup/fleet-load.ts';
import { startFleet, type Fleet, type FleetMachine } from '#test/setup/fleet.ts';

const CLIENTS = 4;
const NAMES = ['m1', 'm2', 'm3'];
const worker = `export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === '/socket') {
      const { 0: client, 1: server } = new WebSocketPair();
      server.accept();
      return new Response(null, { status: 101, webSocket: client });
    }
    if (pathname === '/slow') await new Promise((resolve) => setTimeout(resolve, 400));
    return new Response(await request.text());
  },
};`;

const work = mkdtempSync(path.join(tmpdir(), 'platform-rolling-'));
let fleet: Fleet;
/** Restarts machines as their systemd would. */
let service: Server;

before(async () => {
  const now = copyProgram(path.join(work, 'now'), { version: '0.2.0' });
  const next = copyProgram(path.join(work, 'next'), {
    version: '0.3.0',
    migration: 'ALTER TABLE control.project ADD COLUMN later text;',
  });
  const broken = copyProgram(path.join(work, 'broken'), { version: '0.4.0', isBroken: true });
  fleet = await startFleet({
    names: NAMES,
    program(home) {
      const program = installProgram(now, home, '0.2.0');
      installProgram(next, home, '0.3.0');
      installProgram(broken, home, '0.4.0');
      makeCurrent(home, path.join(home, 'releases/0.2.0'));
      return program;
    },
  });
  service = createServer((request, response) => {
    const machine = fleet.machines.find(({ name }) => `/${name}` === request.url)!;
    void restart(machine).then(() => response.end('restarted'));
  }).listen(0, '127.0.0.1');
  await once(service, 'listening');
  await fleet.deploy('shop', { 'platform.yaml': 'name: shop\nkind: worker\n', 'src/index.ts': worker });
});
after(async () => {
  service?.close();
  await fleet?.close();
  rmSync(work, { recursive: true, force: true });
});

async function restart(machine: FleetMachine): Promise<void> {
  await machine.stop();
  machine.program = path.join(machine.home, 'current/program');
  // As systemd, it reports no start that fails later.
  await machine.start().catch(() => {});
}

/** `platform upgrade --rolling` of an installed version, on a machine. */
async function upgrade(name: string, version: string, ...more: string[]): Promise<{ code: number; output: string }> {
  const machine = fleet.machines.find((one) => one.name === name)!;
  const program = path.join(machine.home, 'releases', version, 'program/cli/run.mjs');
  const { port } = service.address() as AddressInfo;
  const again = `${process.execPath} -e "fetch('http://127.0.0.1:${port}/${name}').then((answer) => answer.text())"`;
  return new Promise((resolve) =>
    execFile(
      process.execPath,
      [program, 'upgrade', '--rolling', '--restart', again, ...more],
      { env: machine.environment, cwd: machine.home },
      (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), output: `${stdout}${stderr}` }),
    ),
  );
}

const versions = async (): Promise<Record<string, string>> => {
  const rows = await fleet.sql.all<{ name: string; version: string }>(
    `SELECT name, version FROM control.machine_now WHERE status = 'up' AND name <> 'e1' ORDER BY name`,
  );
  return Object.fromEntries(rows.map(({ name, version }) => [name, version]));
};

/** @returns what the work comes to, and fails for each request meanwhile that was not answered with 200. */
async function underLoad<Result>(work: () => Promise<Result>): Promise<Result> {
  const load = startLoad(fleet, 'shop', CLIENTS);
  const result = await work().finally(() => load.stop());
  console.log(`requests meanwhile: ${JSON.stringify(load.counts)}`);
  assert.deepEqual(load.failures, []);
  return result;
}

test('three machines are upgraded one by one without a lost request', { timeout: 600_000 }, async () => {
  const sockets = await openSockets(fleet, 'shop', '/socket');
  const began = performance.now();
  const ends = await underLoad(() => Promise.all(NAMES.map((name) => upgrade(name, '0.3.0'))));
  console.log(`three machines upgraded in ${Math.round((performance.now() - began) / 1000)} s`);
  const outputs = ends.map(({ output }) => output).join('\n');
  assert.deepEqual(
    ends.map(({ code }) => code),
    [0, 0, 0],
    outputs,
  );
  assert.match(outputs, /Backed up to .*\nApplying 1 migrations\n/);
  assert.deepEqual(await versions(), { m1: '0.3.0', m2: '0.3.0', m3: '0.3.0' });
  assert.deepEqual(
    sockets.map((socket) => socket.endedWith()),
    sockets.map(() => 1012),
  );
});

test(
  'a version that does not start stops the upgrade there, and the machine goes back',
  { timeout: 600_000 },
  async () => {
    const [ended, other] = await underLoad(async () => [
      await upgrade('m2', '0.4.0', '--timeout', '60'),
      await upgrade('m3', '0.4.0'),
    ]);
    assert.equal(ended!.code, 1, ended!.output);
    assert.match(ended!.output, /m2 did not come back with version 0\.4\.0: it .*\n.*It has version 0\.3\.0 again/);
    assert.equal(other!.code, 1, other!.output);
    assert.match(other!.output, /m2 did not come back with version 0\.4\.0: .*\n.*add `--skip m2` here/);
    assert.deepEqual(await versions(), { m1: '0.3.0', m2: '0.3.0', m3: '0.3.0' });
  },
);

test('a machine goes back to the version before, which works on the new tables', { timeout: 600_000 }, async () => {
  const ended = await underLoad(() => upgrade('m3', '0.2.0', '--skip', 'm2'));
  assert.equal(ended.code, 0, ended.output);
  assert.deepEqual(await versions(), { m1: '0.3.0', m2: '0.3.0', m3: '0.2.0' });
});
