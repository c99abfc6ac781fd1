// `npm run bench noisy`: how attacks by a tenant affect another tenant, who gets 50 requests a second: eight concurrent
// requests that burn CPU, loop, allocate memory or overflow their heap, also for workerd. Then how a site is affected
// by its own events and requests that use up their budgets. BENCH_ATTACK_SECONDS shortens it,
// BENCH_NEIGHBOURS=queue,spins selects rows by a word of their name.
import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { defaultLimits } from '../core/limits.ts';
import type { EventKind } from '../core/event.ts';
import { startOurs, startWorkerd, type Neighbours } from './neighbours.ts';
import { formatTable, percentile } from './statistics.ts';
import { tally, visitOnce } from './visits.ts';

/** What a neighbour does, over and over, so many at a time. */
interface Attack {
  readonly name: string;
  readonly seconds: number;
  readonly atATime: number;
  /** One of them; resolves with what the attacker got. */
  once(neighbours: Neighbours, agent: Agent): Promise<string>;
  /** The attacker's own site is asked as well, and ours alone: peers have no such thing. */
  readonly isAgainstOwnSite: boolean;
  /** The attacker is workers/host-work.js. */
  readonly isHostWork?: boolean;
  /** It may end an engine: only failures count. */
  readonly kills?: boolean;
}

/** What a client got that asked at a steady pace. */
interface Asked {
  readonly times: number[];
  readonly failures: string[];
}

const attackSeconds = Number(process.env['BENCH_ATTACK_SECONDS'] ?? 12);
const PER_SECOND = 50;
const BURN_MS = 200;
/** A client that waits longer has failed. */
const WAIT_MS = 5000;
const VICTIM_MS_MAX = 50;
const OWN_SITE_MS_MAX = 250;

const attacks: readonly Attack[] = [
  { ...requests('does nothing', '/'), atATime: 0 },
  requests(`burns ${BURN_MS} ms a request`, `/burn?loops=${loopsOf(BURN_MS)}`),
  requests('spins', '/spin'),
  requests('allocates 64 MB a request', '/allocate'),
  { ...requests('overflows its heap', '/overflow'), kills: true },
  spinningEvent('queue', 'a queue message'),
  spinningEvent('timer', 'a timer'),
  spinningEvent('cron', 'a cron run'),
  spinningEvent('workflow', 'a workflow'),
  hostWork('crypto', 'derives keys and opens RSA'),
  hostWork('brotli', 'compresses with Brotli'),
  hostWork('sql', 'counts in SQL'),
  hostWork('users', 'makes users'),
];

/** Requests that let the host work until their budget is used up. */
function hostWork(kind: string, name: string): Attack {
  return { ...requests(name, `/${kind}`), isAgainstOwnSite: true, isHostWork: true };
}

function requests(name: string, path: string): Attack {
  const once: Attack['once'] = ({ attacker }, agent) =>
    visitOnce(`${attacker}${path}`, 'attacker', agent, attackSeconds * 1000);
  return { name, seconds: attackSeconds, atATime: 8, isAgainstOwnSite: false, once };
}

/** Events that are given again as a broker would, for longer than one of them may run. */
function spinningEvent(kind: EventKind, what: string): Attack {
  const budgetSeconds = defaultLimits.cpu[kind].free / 1000;
  return {
    name: `burns the ${budgetSeconds} s of ${what}`,
    seconds: Math.max(attackSeconds, budgetSeconds + 3),
    atATime: 2,
    isAgainstOwnSite: true,
    once: (neighbours) => neighbours.deliver?.(kind) ?? Promise.resolve('no events'),
  };
}

const words = (process.env['BENCH_NEIGHBOURS'] ?? '').split(',');
const chosen = attacks.filter(({ name }) => words.some((word) => name.includes(word)));
const seconds = chosen.reduce((sum, attack) => sum + (attack.seconds + 3) * (attack.isAgainstOwnSite ? 1 : 2), 0);
process.stdout.write(`sites are asked ${PER_SECOND} times a second; about ${Math.round(seconds)} s\n`);
for (const attack of chosen) await (attack.isAgainstOwnSite ? besideOwnSite(attack) : besideWorkerd(attack));

async function besideWorkerd(attack: Attack): Promise<void> {
  const rows: (string | number)[][] = [];
  for (const [server, start] of [['ours', startOurs] as const, ['workerd', startWorkerd] as const]) {
    const neighbours = await start();
    if (typeof neighbours === 'string') process.stdout.write(`${server} is left out: ${neighbours}\n`);
    else {
      const [victim, , ...rest] = await underAttack(neighbours, attack);
      rows.push([server, ...figures(victim), ...rest]);
    }
  }
  print(attack, rows, [VICTIM_MS_MAX]);
}

async function besideOwnSite(attack: Attack): Promise<void> {
  const [victim, own, ...rest] = await underAttack(await startOurs(attack.isHostWork), attack);
  print(
    attack,
    [
      ['victim', ...figures(victim), ...rest],
      ['its own site', ...figures(own!), '', ''],
    ],
    [VICTIM_MS_MAX, OWN_SITE_MS_MAX],
  );
}

/** @param p99MsMax of the first rows. */
function print({ name, kills }: Attack, rows: (string | number)[][], p99MsMax: readonly number[]): void {
  const head = ['requests', 'failed', 'p50 ms', 'p99 ms', 'worst ms', 'failures', 'deaths', 'attacker got'];
  process.stdout.write(`\n${formatTable([`neighbour ${name}`, ...head], rows)}\n`);
  for (const [at, most] of p99MsMax.entries()) {
    const [who, , failed, , p99] = rows[at] as [string, number, number, number, number];
    const met = failed === 0 && (p99 <= most || kills === true);
    process.stdout.write(
      `  aim for ${who}: none failed${kills === true ? '' : `, p99 at most ${most} ms`}${met ? '' : ', missed'}\n`,
    );
  }
}

function figures({ times, failures }: Asked): (string | number)[] {
  const worst = times.length === 0 ? Number.NaN : Math.max(...times);
  return [
    times.length + failures.length,
    failures.length,
    percentile(times, 0.5),
    percentile(times, 0.99),
    worst,
    tally(failures),
  ];
}

/** Ends the neighbours when it is done. */
async function underAttack(
  neighbours: Neighbours,
  attack: Attack,
): Promise<[victim: Asked, own: Asked | null, deaths: number, got: string]> {
  const attackers = new Agent({ keepAlive: true });
  let attacking = true;
  const got: string[] = [];
  const run = async (): Promise<void> => {
    while (attacking) {
      const answer = await attack.once(neighbours, attackers).catch((error: Error) => error.message);
      if (attacking) got.push(answer);
      if (!/^\d/.test(answer)) await delay(10);
    }
  };
  const running = Array.from({ length: attack.atATime }, run);
  // On a busy machine a budget of CPU takes longer.
  const began = performance.now();
  const isUnderWay = (): boolean =>
    attack.isAgainstOwnSite && got.length === 0 && performance.now() - began < attack.seconds * 4000;
  const [victim, own] = await Promise.all([
    ask(`${neighbours.victim}/`, 'victim', attack.seconds, isUnderWay),
    attack.isAgainstOwnSite ? ask(`${neighbours.attacker}/`, 'attacker', attack.seconds, isUnderWay) : null,
  ]);
  attacking = false;
  const deaths = neighbours.deaths();
  await neighbours.stop();
  await Promise.all(running);
  attackers.destroy();
  return [victim, own, deaths, tally(got)];
}

/** Asks at a steady pace, whether or not the answers come, and goes on while it is told to. */
async function ask(url: string, project: string, forSeconds: number, goesOn: () => boolean): Promise<Asked> {
  const agent = new Agent({ keepAlive: true });
  const times: number[] = [];
  const failures: string[] = [];
  const asked: Promise<void>[] = [];
  const once = async (): Promise<void> => {
    const began = performance.now();
    const answer = await visitOnce(url, project, agent, WAIT_MS);
    if (answer === '200') times.push(performance.now() - began);
    else failures.push(answer);
  };
  const began = performance.now();
  for (let at = 0; at < PER_SECOND * forSeconds || goesOn(); at++) {
    await delay(Math.max(0, began + (at * 1000) / PER_SECOND - performance.now()));
    asked.push(once());
  }
  await Promise.all(asked);
  agent.destroy();
  return { times, failures };
}

/** How many turns of the attacker's loop take so long here: workerd's clock stands still while code runs. */
function loopsOf(ms: number): number {
  let x = 1;
  let loops = 0;
  const began = performance.now();
  while (performance.now() - began < ms)
    for (let left = 100_000; left > 0; left--, loops++) x = (x * 48271) % 2147483647;
  return x > 0 ? loops : 0;
}
