// `node cli/run.mjs :faults`: puts small faults into product files, one at a time, and checks whether the tests that
// reach the file fail. `--seed=TEXT` (default: the commit) selects the faults, `--count=N` (12) their number,
// `--only=N` one of them; `--list` only lists them; `--checkout=FOLDER` uses another checkout and the tests of its
// `npm test`. The files are restored, also after Ctrl-C. Not packed.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describeCommit } from './tools/machine.ts';
import { root, runProgram } from './tools/processes.ts';
import { isOwnModule, readSources, type Sources } from './tools/sources.ts';
import { reach } from './suites/reach.ts';

/** A replacement of text in a product file. */
interface Fault {
  readonly file: string;
  readonly line: number;
  readonly start: number;
  readonly before: string;
  readonly after: string;
}

/** Test files per batch, nearest first: most faults are detected by the first ones. */
const BATCH = 12;
/** Folders of the product's modules. */
const PRODUCT =
  /^(?:core|artifacts|runtime|gateway|sandbox|control|builder|resources|postgres|git|operations|web|packages|cli)\/(?!tasks\/|dev\/templates)/;
/** Replacements. The patterns require surrounding code, to skip texts and comments. */
const CHANGES: readonly (readonly [RegExp, string])[] = [
  [/ === /g, ' !== '],
  [/ !== /g, ' === '],
  [/ < /g, ' <= '],
  [/ >= /g, ' > '],
  [/ && /g, ' || '],
  [/ \?\? /g, ' && '],
  [/ \+ 1\b/g, ' + 2'],
  [/\breturn true;/g, 'return false;'],
  [/\breturn false;/g, 'return true;'],
  [/\breturn null;/g, 'return undefined as never;'],
];

export async function run(words: readonly string[]): Promise<number> {
  const option = (name: string): string | undefined =>
    words.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
  const checkout = path.resolve(option('checkout') ?? root);
  const seed = option('seed') ?? describeCommit(root).split(' ')[0]!;
  const sources = readSources(checkout);
  const all = drawFaults(sources, seed, Number(option('count') ?? 12));
  const only = option('only');
  let caught = 0;
  for (const [at, fault] of all.entries()) {
    if (only !== undefined && Number(only) !== at + 1) continue;
    const name = `${at + 1}. ${fault.file}:${fault.line} ${fault.before.trim()} -> ${fault.after.trim()}`;
    if (words.includes('--list')) {
      process.stdout.write(`${name}\n`);
      continue;
    }
    const verdict = await tryFault(checkout, fault, await filesFor(checkout, fault.file, sources));
    if (verdict.caughtBy !== null) caught++;
    const state = verdict.caughtBy === null ? 'NOT caught' : `caught by ${verdict.caughtBy}`;
    process.stdout.write(`${name}\n   ${state}, ${verdict.ran} of ${verdict.reached} reached files ran\n`);
  }
  process.stdout.write(`${caught} caught, seed ${seed}\n`);
  return 0;
}

/** Draws faults in the product files of a checkout by seed, at most one per file. Deterministic. */
export function drawFaults(sources: Sources, seed: string, count: number): readonly Fault[] {
  const files = Object.keys(sources).filter(
    (file) => isOwnModule(file) && PRODUCT.test(file) && !/\.d\.m?ts$/.test(file),
  );
  const rank = (text: string): string => createHash('sha256').update(`${seed} ${text}`).digest('hex');
  const ordered = files.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
  const faults: Fault[] = [];
  for (const file of ordered) {
    if (faults.length === count) break;
    const found = candidates(file, sources[file]!).toSorted((a, b) =>
      rank(`${a.start}`) < rank(`${b.start}`) ? -1 : 1,
    );
    if (found[0] !== undefined) faults.push(found[0]);
  }
  return faults;
}

function candidates(file: string, text: string): readonly Fault[] {
  return CHANGES.flatMap(([pattern, after]) =>
    Array.from(text.matchAll(pattern), ({ index, 0: before }) => ({
      file,
      line: text.slice(0, index).split('\n').length,
      start: index,
      before,
      after,
    })),
  ).filter(({ start }) => {
    const line = text.slice(text.lastIndexOf('\n', start) + 1, text.indexOf('\n', start));
    // Skip comments and types.
    return !/^\s*(?:\/\/|\*|\/\*|type |interface )/.test(line);
  });
}

/** Test files of `npm test` that the file reaches, nearest first. */
async function filesFor(checkout: string, file: string, sources: Sources): Promise<readonly string[]> {
  const { rungOf } = await rungsOf(checkout);
  const { distanceOf } = reach([file], sources);
  return Object.keys(sources)
    .filter((name) => name.endsWith('.test.ts') && rungOf(name) === 'quick' && distanceOf(name) !== null)
    .toSorted((a, b) => distanceOf(a)! - distanceOf(b)! || (a < b ? -1 : 1));
}

/** The checkout's table of suites; for older checkouts, the tests excluded from `npm test`. */
async function rungsOf(checkout: string): Promise<{ rungOf(file: string): string }> {
  const table = path.join(checkout, 'test/suites.ts');
  try {
    return (await import(table)) as { rungOf(file: string): string };
  } catch {
    const { elsewhere } = (await import(path.join(checkout, 'cli/tasks/test.ts'))) as {
      elsewhere: Readonly<Record<string, string>>;
    };
    const isElsewhere = (file: string): boolean => Object.keys(elsewhere).some((folder) => file.startsWith(folder));
    return { rungOf: (file) => (isElsewhere(file) ? 'elsewhere' : 'quick') };
  }
}

async function tryFault(
  checkout: string,
  { file, start, before, after }: Fault,
  files: readonly string[],
): Promise<{ readonly caughtBy: string | null; readonly ran: number; readonly reached: number }> {
  const at = path.join(checkout, file);
  const text = readFileSync(at, 'utf8');
  const putBack = (): void => writeFileSync(at, text);
  const onSignal = (): never => {
    putBack();
    process.exit(130);
  };
  process.once('SIGINT', onSignal);
  writeFileSync(at, text.slice(0, start) + after + text.slice(start + before.length));
  try {
    for (let ran = 0; ran < files.length; ran += BATCH) {
      const batch = files.slice(ran, ran + BATCH);
      const ended = await runProgram(process.execPath, ['cli/run.mjs', ':test', ...batch], { cwd: checkout });
      if (ended.code !== 0) {
        const failing = /^test at ([^:]+):/m.exec(ended.output.slice(ended.output.lastIndexOf('failing tests:')))?.[1];
        return { caughtBy: failing ?? batch[0]!, ran: ran + batch.length, reached: files.length };
      }
    }
    return { caughtBy: null, ran: files.length, reached: files.length };
  } finally {
    process.off('SIGINT', onSignal);
    putBack();
  }
}
