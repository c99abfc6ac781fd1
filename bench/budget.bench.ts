// `npm run bench budget`: whether a CPU budget counts only the worker's own CPU, with more busy loops than cores next
// to honest workers. A busy loop must end at its budget of CPU time, and an honest worker must never be blamed. `npm
// run bench overruns` measures code that V8 cannot interrupt.
import { startHandler } from '../test/setup/handler.ts';
import { formatTable } from './statistics.ts';

const LIMIT_MS = 300;
const ROUNDS = 5;
const spinners = ['spin0', 'spin1', 'spin2'];
const honest = ['work0', 'work1', 'work2'];

const plans = { free: LIMIT_MS, pro: LIMIT_MS, enterprise: LIMIT_MS };
const limits = { cpu: { http: plans, queue: plans, timer: plans, cron: plans, workflow: plans } };
const work = `export default { async fetch() { let x = 1; for (let i = 0; i < 5e6; i++) x = (x * 48271) % 2147483647; await null; return new Response(String(x)); } };`;
const handler = await startHandler(
  Object.fromEntries([
    ...spinners.map((name) => [name, 'export default { fetch() { for (;;); } };']),
    ...honest.map((name) => [name, work]),
  ]),
  limits,
);
for (const name of honest) await handler.fetch(name);
handler.requests.length = 0;
const used: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  await Promise.all([
    ...spinners.map(async (name) => used.push(((await handler.fetch(name)).json() as { usedMs: number }).usedMs)),
    ...honest.map((name) => handler.fetch(name)),
  ]);
}
const of = (names: string[]): typeof handler.requests =>
  handler.requests.filter(({ project }) => names.includes(project));
const range = (values: number[]): string => `${Math.min(...values).toFixed(0)} to ${Math.max(...values).toFixed(0)}`;
const row = (what: string, names: string[], cpu: number[]): string[] => [
  what,
  String(of(names).length),
  String(of(names).filter(({ status }) => status === 200).length),
  range(cpu),
  range(of(names).map(({ wallMs }) => wallMs)),
];
process.stdout.write(
  `${formatTable(
    [`budget ${LIMIT_MS} ms`, 'requests', 'answered 200', 'CPU ms', 'wall ms'],
    [
      row('spinners', spinners, used),
      row(
        'honest workers',
        honest,
        of(honest).map(({ cpuMs }) => cpuMs),
      ),
    ],
  )}\n`,
);
await handler.close();
