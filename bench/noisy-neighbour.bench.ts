// What a tenant notices of another one: a victim asked 50 times a second while its neighbour, eight requests at a time, burns CPU,
// spins, takes memory or overflows its heap; workerd under the same attacks. `npm run bench noisy`; BENCH_ATTACK_SECONDS shortens it.
import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { startOurs, startWorkerd, type Neighbours } from './neighbours.ts';
import { formatTable, machineLine, percentile } from './statistics.ts';
import { tally, visitOnce } from './visits.ts';

const attackSeconds = Number(process.env['BENCH_ATTACK_SECONDS'] ?? 12);
const perSecond = 50;
const atATime = 8;
const burnMs = 200;
/** A victim that waits longer has failed. */
const patienceMs = 5000;
/** The attack that may end an engine: there only failures count. */
const killing = 'overflows its heap';
const p99MsMax = 50;
const attacks: readonly (readonly [name: string, path: string | null])[] = [
  ['nobody', null],
  [`burns ${burnMs} ms a request`, `/burn?loops=${loopsOf(burnMs)}`],
  ['spins', '/spin'],
  ['allocates 64 MB a request', '/allocate'],
  [killing, '/overflow'],
];

process.stdout.write(
  `${machineLine()}\nvictim: ${perSecond} requests a second for ${attackSeconds} s; attacker: ${atATime} requests at a time`,
);
process.stdout.write(`; about ${Math.round(attacks.length * 2 * (attackSeconds + 3))} s\n`);
for (const [name, path] of attacks) {
  const rows: (string | number)[][] = [];
  for (const [server, start] of [['ours', startOurs] as const, ['workerd', startWorkerd] as const]) {
    const neighbours = await start();
    if (typeof neighbours === 'string') process.stdout.write(`${server} is left out: ${neighbours}\n`);
    else rows.push([server, ...(await underAttack(neighbours, path))]);
  }
  const head = ['requests', 'failed', 'p50 ms', 'p99 ms', 'worst ms', 'deaths', 'failures', 'attacker got'];
  process.stdout.write(`\n${formatTable([`neighbour ${name}`, ...head], rows)}\n`);
  const [, , failed, , p99] = rows[0] as number[];
  const met = failed === 0 && (p99! <= p99MsMax || name === killing);
  process.stdout.write(`  aim: none failed${name === killing ? '' : `, p99 at most ${p99MsMax} ms`}${met ? '' : ', missed'}\n`);
}

async function underAttack(neighbours: Neighbours, path: string | null): Promise<(string | number)[]> {
  const agent = new Agent({ keepAlive: true });
  const attackers = new Agent({ keepAlive: true });
  let attacking = path !== null;
  const got: string[] = [];
  const attack = async (): Promise<void> => {
    while (attacking) {
      const answer = await visitOnce(`${neighbours.attacker}${path}`, 'attacker', attackers, attackSeconds * 1000);
      if (attacking) got.push(answer);
      if (!/^\d/.test(answer)) await delay(10);
    }
  };
  const running = Array.from({ length: atATime }, attack);
  const times: number[] = [];
  const failures: string[] = [];
  const asked: Promise<void>[] = [];
  const ask = async (): Promise<void> => {
    const began = performance.now();
    const answer = await visitOnce(`${neighbours.victim}/`, 'victim', agent, patienceMs);
    if (answer === '200') times.push(performance.now() - began);
    else failures.push(answer);
  };
  const began = performance.now();
  for (let at = 0; at < perSecond * attackSeconds; at++) {
    await delay(Math.max(0, began + (at * 1000) / perSecond - performance.now()));
    asked.push(ask());
  }
  await Promise.all(asked);
  attacking = false;
  const deaths = neighbours.deaths();
  await neighbours.stop();
  await Promise.all(running);
  agent.destroy();
  attackers.destroy();
  const figures = [percentile(times, 0.5), percentile(times, 0.99), times.length === 0 ? Number.NaN : Math.max(...times)];
  return [asked.length, failures.length, ...figures, deaths, tally(failures), tally(got)];
}

/** How many turns of the attacker's loop take so long here: workerd's clock stands still while code runs. */
function loopsOf(ms: number): number {
  let x = 1;
  let loops = 0;
  const began = performance.now();
  while (performance.now() - began < ms) for (let left = 100_000; left > 0; left--, loops++) x = (x * 48271) % 2147483647;
  return x > 0 ? loops : 0;
}
