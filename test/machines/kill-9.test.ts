// kill -9 of each of three machines in turn, under requests and writes to queues, workflows, timers, state, files and
// databases: requests outside of the machine are answered, and nothing that was acknowledged is lost. Prints how long
// it takes until all hosts are served again; DURABILITY_ROUNDS says how many rounds, DURABILITY_DATABASES how many
// databases.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { durableVariables, kinds, runDurability, served, type DurablePlatform } from '#test/setup/durability.ts';
import { createVisitor, startLoad } from '#test/setup/fleet-load.ts';
import { startFleet, type FleetMachine } from '#test/setup/fleet.ts';
import { until } from '#test/setup/until.ts';

const rounds = Number(process.env['DURABILITY_ROUNDS'] ?? 2);
const NAMES = ['m2', 'm3', 'm1'];
const CLIENTS = 4;
/** Besides what was inside the machine: connections of the edge to it that break, and are not tried again. */
const plain = `export default { async fetch(request) {
  if (new URL(request.url).pathname === '/slow') await new Promise((resolve) => setTimeout(resolve, 400));
  return new Response(await request.text());
} };`;

/** What one kill came to. */
interface Kill {
  readonly machine: string;
  /** Until all hosts are served by the machines that are left. */
  readonly hostsMs: number;
  /** Until a project database is served, which the first machine has. */
  readonly databaseMs: number;
  /** Until the machine is up again. */
  readonly backMs: number;
  /** Requests to the plain worker that were not answered with 200. */
  readonly failed: number;
}

async function openMachines(seen: Kill[], say: (line: string) => void): Promise<DurablePlatform> {
  const fleet = await startFleet({ variables: durableVariables });
  const visitor = createVisitor(fleet);
  await fleet.deploy('plain', { 'platform.yaml': 'name: plain\nkind: worker\n', 'src/index.ts': plain });
  const load = startLoad(fleet, 'plain', CLIENTS);
  const loaded = performance.now();
  const failures = (): number =>
    Object.entries(load.counts).reduce((sum, [key, n]) => sum + (key === '200' ? 0 : n), 0);
  let asked = 0;
  const answers = (host: string, path: string): Promise<string> => served(host + path, () => visitor.visit(host, path));

  async function kill(machine: FleetMachine): Promise<string> {
    const failedBefore = failures();
    const began = performance.now();
    const since = (): number => Math.round(performance.now() - began);
    await machine.kill();
    const hostsMs = await Promise.all(fleet.domains.map((domain) => answers(`plain.${domain}`, '/'))).then(since);
    const failed = failures() - failedBefore;
    const [, databaseMs] = await Promise.all([
      machine.start(),
      answers(`shop.${fleet.domains[0]!}`, '/prepare').then(since),
    ]);
    seen.push({ machine: machine.name, hostsMs, databaseMs, backMs: since(), failed });
    await until(async () => (await fleet.statuses().catch(() => null))?.[machine.name] === 'up');
    return machine.name;
  }

  return {
    deploy: (code, yaml) =>
      fleet.deploy('shop', { 'platform.yaml': `name: shop\nkind: worker\n${yaml}`, 'src/index.ts': code }),
    fetch: (at, method) =>
      visitor.visit(`shop.${fleet.domains[asked++ % fleet.domains.length]!}`, at, method === 'POST' ? '' : undefined),
    kills: () => NAMES.map((name) => () => kill(fleet.machines.find((machine) => machine.name === name)!)),
    async close() {
      await load.stop();
      const answered = load.counts['200'] ?? 0;
      say(`plain: ${answered} requests, ${Math.round(answered / ((performance.now() - loaded) / 1000))} a second`);
      visitor.close();
      await fleet.close();
    },
  };
}

test(
  `nothing that was acknowledged is lost when machines are killed, in ${rounds} rounds`,
  { timeout: 300_000 + rounds * 180_000 },
  async (t) => {
    const seen: Kill[] = [];
    const say = (line: string): void => t.diagnostic(line);
    const { accounts, failedRuns, dead, corrupt } = await runDurability(rounds, say, () => openMachines(seen, say));
    tell(t, seen);
    for (const kind of kinds) {
      const { acknowledged, unknown, lost, came, again, strange } = accounts[kind];
      t.diagnostic(
        `${kind.padEnd(9)} acknowledged ${acknowledged}, unknown ${unknown}, came ${came}, again ${again}, lost ${lost.length}, strange ${strange.length}`,
      );
    }
    for (const kind of kinds) {
      assert.deepEqual(accounts[kind].lost, [], `${kind}: acknowledged, and not there`);
      assert.deepEqual(accounts[kind].strange, [], `${kind}: there, and nobody asked for it`);
      assert.ok(accounts[kind].acknowledged > 0, kind);
    }
    assert.deepEqual([failedRuns, dead, corrupt], [[], 0, []]);
    // Only what was inside: each client has one request at a time.
    for (const { machine, failed } of seen) assert.ok(failed <= CLIENTS, `${machine}: ${failed} requests failed`);
  },
);

function tell(t: TestContext, seen: readonly Kill[]): void {
  t.diagnostic('machine   all hosts served   database served   machine up   requests failed');
  for (const { machine, hostsMs, databaseMs, backMs, failed } of seen)
    t.diagnostic(
      `${machine.padEnd(9)} ${`${hostsMs} ms`.padStart(16)} ${`${databaseMs} ms`.padStart(17)} ${`${backMs} ms`.padStart(12)} ${String(failed).padStart(17)}`,
    );
}
