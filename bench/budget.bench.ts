// Whether a CPU budget is the worker's own CPU: spinners and honest workers at once, more of them than cores. A spinner
// must end at its budget in CPU time however long that takes on the clock, and an honest worker must never be blamed.
// Then how far past it built-ins get that V8 lets nobody interrupt. `npm run bench budget`.
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
await overshoots();
// What cannot be ended goes on.
process.exit();

/** One call of each after the other, as large as the memory of an isolate allows or nearly so. */
async function overshoots(): Promise<void> {
  const calls: Readonly<Record<string, string>> = {
    'for (;;)': 'for (;;);',
    'regular expression that backtracks': `/^(a+)+$/.test('a'.repeat(60) + 'b');`,
    'BigInt: digits of 2 ** 40,000,000': '(1n << 40_000_000n).toString();',
    'BigInt: products in a loop': 'for (let n = 3n; ; ) n = (n * n) % (2n ** 200_000n - 1n);',
    'Array sort, 1,000,000 numbers as text': 'Array.from({ length: 1e6 }, () => Math.random()).sort();',
    'Float64Array sort, 5,000,000': 'new Float64Array(5e6).map(() => Math.random()).sort();',
    'JSON.parse, 16 MB': `JSON.parse('[' + '[1,2,3,"text"],'.repeat(1e6) + '0]');`,
    'JSON.stringify, 100,000 objects':
      'const all = Array.from({ length: 1e5 }, (_, id) => ({ id, name: "name" + id, tags: ["a", "b"] })); for (let i = 0; i < 20; i++) JSON.stringify(all);',
    'structuredClone, 100,000 objects':
      'const all = Array.from({ length: 1e5 }, (_, id) => ({ id, name: "name" + id })); for (let i = 0; i < 20; i++) structuredClone(all);',
    'String replaceAll, 10,000,000 places': `'ab'.repeat(1e7).replaceAll('a', 'c');`,
    'String normalize, 10 MB': `('e\\u0301' + 'x').repeat(3e6).normalize('NFKC');`,
    'indexOf over an object of 2 ** 53 - 1': 'Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);',
    'new Function, 10 MB': `new Function('a();'.repeat(2.5e6));`,
    'SHA-512 of 64 MB': `await crypto.subtle.digest('SHA-512', new Uint8Array(64e6));`,
  };
  const workers = Object.entries(calls).map(([, call], at) => [
    `call${at}`,
    `export default { async fetch() { ${call} return new Response('done'); } };`,
  ]);
  const other = await startHandler(Object.fromEntries(workers), limits);
  const rows: (string | number)[][] = [];
  for (const [at, name] of Object.keys(calls).entries()) {
    const began = performance.now();
    const answer = await other.fetch(`call${at}`);
    const wallMs = performance.now() - began;
    const { cpuMs } = other.requests.findLast(({ project }) => project === `call${at}`)!;
    rows.push([name, String(answer.headers['x-platform-error'] ?? `${answer.status} ${answer.text}`), cpuMs, wallMs]);
  }
  process.stdout.write(
    `\n${formatTable([`one call, budget ${LIMIT_MS} ms`, 'ended as', 'CPU ms', 'wall ms'], rows)}\n`,
  );
  await other.close();
}
