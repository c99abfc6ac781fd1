// `npm run bench events`: queues, workflows and timers of the handler over Postgres: throughput compared with the same
// load on bare SQL, the cost of a step, and delays of timers. All processes are counted.
import { setTimeout as delay } from 'node:timers/promises';
import { startBareQueue } from './bare-queue.ts';
import { startProduction } from './bindings-platforms.ts';
import { cpuMs, rounds } from './load.ts';
import { ask, type Server } from './servers.ts';
import { digits, formatTable, median, percentile } from './statistics.ts';

const MESSAGES = 5000;
const TIMERS = 300;
const TIMERS_MS = 3000;
const [fewSteps, manySteps] = [1, 41];

interface Reading {
  readonly wallMs: number;
  readonly cpuMs: number;
}

process.stdout
  .write(`Embedded Postgres 18, synchronous_commit=on; the handler with supervisor, one engine and broker. Medians of ${rounds} rounds, in turn.

`);
const bare = await startBareQueue();
const handler = await startProduction('handler', 'events');
try {
  await queues();
  await workflows();
  await lateness();
} finally {
  await handler.stop();
  await bare.stop();
}

async function measure(server: Server, work: () => Promise<void>): Promise<Reading> {
  const [cpuBefore, startedAt] = [cpuMs(server.pid), performance.now()];
  await work();
  return { wallMs: performance.now() - startedAt, cpuMs: cpuMs(server.pid) - cpuBefore };
}

async function sendAndDeliver(): Promise<void> {
  const before = Number(await ask(handler, '/delivered'));
  await ask(handler, `/send?n=${MESSAGES}`);
  while (Number(await ask(handler, '/delivered')) < before + MESSAGES) await delay(10);
}

async function queues(): Promise<void> {
  const readings = { handler: [] as Reading[], 'bare SQL': [] as Reading[] };
  for (let round = 0; round <= rounds; round++) {
    const ours = await measure(handler, sendAndDeliver);
    const theirs = await bare.measure(MESSAGES);
    if (round === 0) continue;
    readings.handler.push(ours);
    readings['bare SQL'].push(theirs);
  }
  const of = (name: keyof typeof readings, key: keyof Reading): number =>
    median(readings[name].map((reading) => reading[key]));
  const rows = (['handler', 'bare SQL'] as const).map((name) => [
    name,
    (MESSAGES * 1000) / of(name, 'wallMs'),
    (of(name, 'cpuMs') * 1000) / MESSAGES,
  ]);
  const head = [`${MESSAGES} messages sent by the hundred, delivered by tens`, 'messages/s', 'CPU us a message'];
  process.stdout.write(`${formatTable(head, rows)}\n`);
  const share = of('bare SQL', 'wallMs') / of('handler', 'wallMs');
  process.stdout.write(`  throughput: handler / bare SQL = ${digits(share)}\n\n`);
}

async function workflows(): Promise<void> {
  const readings = new Map<number, Reading[]>([fewSteps, manySteps].map((steps) => [steps, []]));
  const runs = 10;
  for (let round = 0; round <= rounds; round++) {
    for (const [steps, list] of readings) {
      const reading = await measure(handler, async () => {
        for (let run = 0; run < runs; run++) await ask(handler, `/run?n=${steps}`);
      });
      if (round > 0) list.push({ wallMs: reading.wallMs / runs, cpuMs: reading.cpuMs / runs });
    }
  }
  const of = (steps: number, key: keyof Reading): number => median(readings.get(steps)!.map((reading) => reading[key]));
  const perStep = (key: keyof Reading): number => (of(manySteps, key) - of(fewSteps, key)) / (manySteps - fewSteps);
  const rows = [
    ...[fewSteps, manySteps].map((steps) => [`a run of ${steps}`, of(steps, 'wallMs'), of(steps, 'cpuMs') * 1000]),
    ['each further step', perStep('wallMs'), perStep('cpuMs') * 1000],
  ];
  process.stdout.write(`${formatTable(['workflow, one run after the other', 'ms', 'CPU us'], rows)}\n\n`);
}

async function lateness(): Promise<void> {
  const late: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await ask(handler, `/timers?n=${TIMERS}&ms=${TIMERS_MS}`);
    let seen: number[] = [];
    const deadline = performance.now() + 60_000;
    while (seen.length < TIMERS && performance.now() < deadline) {
      await delay(100);
      seen = JSON.parse(await ask(handler, '/lateness')) as number[];
    }
    if (seen.length < TIMERS) process.stdout.write(`  ${TIMERS - seen.length} timers did not come within a minute\n`);
    late.push(...seen);
  }
  const rows = [
    [
      `${TIMERS} timers over ${TIMERS_MS} ms, ${rounds} times`,
      percentile(late, 0.5),
      percentile(late, 0.99),
      Math.max(...late),
    ],
  ];
  process.stdout.write(`${formatTable(['lateness of timers', 'p50 ms', 'p99 ms', 'most ms'], rows)}\n`);
}
