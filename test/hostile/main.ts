// All attacks as a table: name, verdict, what the attacker got, what the victim saw. An attack that fails runs once
// more with nothing beside it, one that fails by time alone twice, and says so: two attacks share the machine
// otherwise. Where other programs, or other machines of its host, use much of it all the same, it waits for them and
// runs again; a waiting time that was never seen without them is called `busy`: not judged. Where fresh memory is slow,
// more waiting is allowed (test/setup/hostile.ts). Exit code 1 when one fails or is not judged.
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { refuses } from '#cli/tasks/suites/words.ts';
import { nodeFlags } from '#core/node-flags.mjs';
import { attackKinds, type Attack, type Verdict } from '#test/setup/hostile.ts';
import { processorTicks } from '#test/setup/processor-ticks.ts';

const ATTACK_MS_MAX = 120_000;
/**
 * Where Node keeps what it compiled, as in `npm test`: more than half of the CPU of a short attack went into doing so
 * again.
 */
const compiled = process.env['NODE_COMPILE_CACHE'] ?? join(import.meta.dirname, '../../node_modules/.compiled');
/** Of the machine's CPU that others may use while a waiting time is judged. */
const OTHERS_SHARE_MAX = 0.2;
/** Runs of an attack that fails by time alone, and of one that never had the machine for itself. */
const RUNS_MAX = 3;
const BUSY_RUNS_MAX = 8;
/** How long a machine that others are busy with is waited for in all, and how long a look at it takes. */
const WAITING_MS_MAX = 120_000;
const LOOK_MS = 300;
let waitedMs = 0;
const words = process.argv.slice(2);
const jobs = Number(words.find((word) => word.startsWith('--jobs='))?.slice(7) ?? 2);
const parts = words.filter((word) => !word.startsWith('--'));

const attacks: { name: string; attack: Attack }[] = [];
for (const file of readdirSync(join(import.meta.dirname, 'attacks')).sort()) {
  const { default: attack } = (await import(join(import.meta.dirname, 'attacks', file))) as { default: Attack };
  attacks.push({ name: file.replace(/\.ts$/, ''), attack });
}
const isPicked = ({ name, attack }: (typeof attacks)[number], word: string): boolean =>
  name.includes(word) || attack.kind === word;
const picks = (word: string): boolean => attacks.some((attack) => isPicked(attack, word));
const choices = [...attackKinds, ...attacks.map(({ name }) => name)];
if (refuses('npm test -- hostile', parts, picks, choices)) process.exit(2);
const chosen = attacks
  .filter((attack) => parts.length === 0 || parts.some((part) => isPicked(attack, part)))
  .toSorted((a, b) => turn(a.attack) - turn(b.attack));

const began = performance.now();
process.stdout.write(`${row('attack', 'verdict', 'victim ms', 'failed', 'deaths', 'seconds', 'the attacker got')}\n`);
const failed: string[] = [];
const unjudged: string[] = [];
const again: typeof chosen = [];
let cpuMs = 0;
const queue = [...chosen];
await Promise.all(
  Array.from({ length: jobs }, async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const verdict = await inProcess(next.name);
      cpuMs += verdict.cpuMs;
      if (verdict.passed) report(next, verdict, '');
      else again.push(next);
    }
  }),
);
for (const next of again) {
  let runs = 1;
  let verdict: Verdict;
  do {
    await quiet();
    verdict = await inProcess(next.name);
    runs++;
  } while (!verdict.passed && verdict.byTimeAlone && runs < (isBusy(verdict) ? BUSY_RUNS_MAX : RUNS_MAX));
  report(next, verdict, ` (run ${runs}, alone)`);
}
const passed = chosen.length - failed.length - unjudged.length;
const seconds = ((performance.now() - began) / 1000).toFixed(0);
process.stdout.write(
  `\n${passed} of ${chosen.length} attacks failed to hurt, in ${seconds} s, with ${(cpuMs / 1000).toFixed(0)} s of CPU for the first run of each\n`,
);
for (const line of failed) process.stdout.write(`  ${line}\n`);
if (unjudged.length > 0)
  process.stdout.write(`Not judged, the machine was busy with other work: ${unjudged.join(', ')}\n`);
process.exit(passed === chosen.length ? 0 : 1);

/** Whether it failed by time alone, of which others had too much. */
function isBusy({ passed, byTimeAlone, othersShare }: Verdict): boolean {
  return !passed && byTimeAlone && othersShare > OTHERS_SHARE_MAX;
}

/**
 * Resolves when the machine gives a loop its time, or has been waited for too long: what its host takes away shows
 * under load alone.
 */
async function quiet(): Promise<void> {
  for (; waitedMs < WAITING_MS_MAX; waitedMs += LOOK_MS * 6) {
    const [before, from] = [processorTicks(), performance.now()];
    while (performance.now() - from < LOOK_MS);
    const after = processorTicks();
    if (after.taken - before.taken <= (after.all - before.all) * (OTHERS_SHARE_MAX / 2)) return;
    await delay(LOOK_MS * 5);
  }
}

function report({ name, attack }: (typeof chosen)[number], verdict: Verdict, note: string): void {
  const { victim } = verdict;
  const state = verdict.passed ? 'held' : isBusy(verdict) ? 'busy' : 'HURT';
  process.stdout.write(
    `${row(
      `${attack.kind} ${name}`,
      state,
      String(Math.round(victim.longestMs)),
      `${victim.failures}/${victim.requests}`,
      String(verdict.engineDeaths),
      (verdict.ms / 1000).toFixed(1),
      verdict.answer.replaceAll('\n', ' ').slice(0, 90),
    )}${note}\n`,
  );
  if (isBusy(verdict))
    unjudged.push(`${name} (${Math.round(victim.longestMs)} ms, others ${Math.round(verdict.othersShare * 100)}%)`);
  else if (!verdict.passed)
    failed.push(`${name}: ${verdict.objections.join('; ')}; it got ${verdict.answer.slice(0, 400)}`);
}

/** Attacks that kill take longest. */
function turn({ kind, kills }: Attack): number {
  return kills === true ? -1 : attackKinds.indexOf(kind);
}

function inProcess(name: string): Promise<Verdict> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...nodeFlags, join(import.meta.dirname, 'attack-process.ts'), name], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_COMPILE_CACHE: compiled },
    });
    const overdue = setTimeout(() => child.kill('SIGKILL'), ATTACK_MS_MAX);
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.on('close', () => {
      clearTimeout(overdue);
      const last = output.trimEnd().split('\n').at(-1) ?? '';
      if (last.startsWith('{"passed"')) resolve(JSON.parse(last) as Verdict);
      else resolve(broken(output.slice(-400)));
    });
  });
}

/** An attack whose own process ended without a verdict. */
function broken(output: string): Verdict {
  const victim = { requests: 0, failures: 0, failuresInARow: 0, longestMs: 0, lastFailure: '' };
  return {
    passed: false,
    objections: ['no verdict'],
    byTimeAlone: false,
    answer: output,
    victim,
    engineDeaths: 0,
    ms: 0,
    cpuMs: 0,
    othersShare: 0,
  };
}

function row(...cells: [string, string, string, string, string, string, string]): string {
  const widths = [44, 7, 9, 9, 6, 7, 0];
  return cells.map((cell, at) => cell.padEnd(widths[at] as number)).join('  ');
}
