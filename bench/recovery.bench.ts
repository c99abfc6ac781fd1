// `npm run bench recovery`: how long a handler is unavailable when a worker kills its engine, and whether a neighbour
// is affected by a worker in a busy loop. Uses the real supervisor.
import { startPlatform } from '../test/setup/platform.ts';
import { formatTable, median, percentile } from './statistics.ts';

const KILLS = 5;
const SPINS = 5;

// Each kills once: after that it is served by an engine of its own.
const killers = Array.from({ length: KILLS }, (_, index) => `killer${index}`);
const killer = `export default { fetch(request) { if (new URL(request.url).pathname === '/kill') return new Response(String('x'.repeat(2 ** 28).split('').length)); return new Response('killer'); } };`;
const platform = await startPlatform({
  ...Object.fromEntries(killers.map((name) => [name, killer])),
  spinner: `export default { fetch() { for (;;); } };`,
  victim: `export default { fetch: () => new Response('victim') };`,
});

const away: number[][] = [[], []];
for (const name of killers) {
  await Promise.all([platform.answers('victim', 'victim'), platform.answers(name, 'killer')]);
  const restarted = platform.restarted();
  const died = platform.fetch(name, '/kill').catch(() => {});
  await died;
  const began = performance.now();
  await restarted;
  await Promise.all(
    [[name, 'killer'] as const, ['victim', 'victim'] as const].map(async ([project, text], index) => {
      await platform.answers(project, text);
      away[index]?.push(performance.now() - began);
    }),
  );
}

const gaps: number[] = [];
const answers: string[] = [];
for (let i = 0; i < SPINS; i++) {
  let spinning = true;
  const spin = platform.fetch('spinner').then((response) => {
    spinning = false;
    answers.push(`${response.status} ${(response.json() as { code: string }).code}`);
  });
  while (spinning) {
    const began = performance.now();
    const answer = await platform.fetch('victim');
    if (answer.text !== 'victim') throw new Error(`The victim got ${answer.status}`);
    gaps.push(performance.now() - began);
  }
  await spin;
}
await platform.close();

process.stdout.write(
  `${formatTable(
    ['what', 'median ms', 'worst ms', 'of'],
    [
      [
        'killer answers again after its engine died',
        median(away[0] as number[]).toFixed(0),
        Math.max(...(away[0] as number[])).toFixed(0),
        KILLS,
      ],
      [
        'neighbour answers again',
        median(away[1] as number[]).toFixed(0),
        Math.max(...(away[1] as number[])).toFixed(0),
        KILLS,
      ],
      [
        "neighbour's answer while for(;;) runs, p50 and worst",
        percentile(gaps, 0.5).toFixed(1),
        Math.max(...gaps).toFixed(1),
        gaps.length,
      ],
    ],
  )}\nthe spinner got: ${[...new Set(answers)].join(', ')}\n`,
);
