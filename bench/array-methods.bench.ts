// `npm run bench array-methods`: the cost of a length check in methods of Array. Each method is measured as V8 has it,
// and wrapped in a function that checks the length first, over arrays of 10, 1,000 and 100,000 elements. BENCH_ROUNDS=5
// sets the rounds. Takes about a minute.
import { spawnSync } from 'node:child_process';
import { formatTable } from './statistics.ts';

const LENGTH_MAX = 2 ** 24;
const SIZES = [10, 1000, 100_000];
/** Elements that one measurement goes over, and how many are taken: the least counts. */
const [ELEMENTS, TRIES] = [5e5, 5];
const PROCESSES = Number(process.env['BENCH_ROUNDS'] ?? 5);

type Numbers = number[];
/** A call of each, as a program would write it. Before, V8 optimizes it for an array of whole numbers. */
const calls: Readonly<Record<string, (array: Numbers) => unknown>> = {
  forEach: (array) => array.forEach((one) => (sum += one)),
  map: (array) => array.map((one) => one + 1),
  filter: (array) => array.filter((one) => one > 100),
  some: (array) => array.some((one) => one < 0),
  every: (array) => array.every((one) => one >= 0),
  reduce: (array) => array.reduce((all, one) => all + one, 0),
  indexOf: (array) => array.indexOf(-1),
  lastIndexOf: (array) => array.lastIndexOf(-1),
  slice: (array) => array.slice(1),
  splice: (array) => array.splice(1, 1, 7),
  fill: (array) => array.fill(3),
  copyWithin: (array) => array.copyWithin(1, 0),
  reverse: (array) => array.reverse(),
  sort: (array) => array.sort((a, b) => a - b),
  join: (array) => array.join(),
  flat: (array) => array.flat(),
};
let sum = 0;

/** The cheapest way there is: two comparisons before V8's own is called with what it was given. */
function wrap(name: string): void {
  const { apply } = Reflect;
  const { isArray } = Array;
  const methods = Array.prototype as unknown as Record<string, (...given: unknown[]) => unknown>;
  const own = methods[name]!;
  const wrapped = {
    [name](this: unknown, first: unknown) {
      if (!isArray(this) || this.length > LENGTH_MAX) throw new RangeError('Invalid array length');
      // oxlint-disable-next-line prefer-rest-params -- Rest parameters cost an array with each call.
      return apply(own, this, arguments.length === 1 ? [first] : (arguments as unknown as unknown[]));
    },
  };
  methods[name] = wrapped[name]!;
}

/** Nanoseconds of a call, by method and size. */
function measure(): number[][] {
  return Object.values(calls).map((call) =>
    SIZES.map((size) => {
      const array = Array.from({ length: size }, (_, at) => at & 255);
      const turns = Math.ceil(ELEMENTS / (size + 10));
      let least = Infinity;
      for (let tries = 0; tries < TRIES; tries++) {
        const began = performance.now();
        for (let turn = 0; turn < turns; turn++) call(array);
        least = Math.min(least, ((performance.now() - began) / turns) * 1e6);
      }
      return least;
    }),
  );
}

/** In a process of its own. */
function measured(mode: 'own' | 'wrapped'): number[][] {
  const { stdout } = spawnSync(process.execPath, [...process.execArgv, import.meta.filename, mode], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(stdout) as number[][];
}

const mode = process.argv[2];
if (mode === 'own' || mode === 'wrapped') {
  if (mode === 'wrapped') for (const name of Object.keys(calls)) wrap(name);
  process.stdout.write(JSON.stringify(measure()));
} else {
  const rounds = Array.from({ length: PROCESSES }, () => ({ own: measured('own'), wrapped: measured('wrapped') }));
  const least = (of: 'own' | 'wrapped', row: number, column: number): number =>
    Math.min(...rounds.map((round) => round[of][row]![column]!));
  const rows = Object.keys(calls).map((name, row) => [
    name,
    ...SIZES.flatMap((_, column) => {
      const [own, wrapped] = [least('own', row, column), least('wrapped', row, column)];
      return [own, wrapped, `${(wrapped / own).toFixed(1)} x`];
    }),
  ]);
  const head = SIZES.flatMap((size) => [`${size} elements, ns`, 'wrapped', '']);
  process.stdout.write(`${formatTable(['method', ...head], rows)}\n`);
}
