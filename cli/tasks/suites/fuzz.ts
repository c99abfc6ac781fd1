// `npm test -- fuzz`: tests parsers of untrusted bytes with 100,000 inputs each, and every test with random inputs with
// ten times as many as in `npm test`. A failed test prints its seed.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '../tools/processes.ts';
import { allTestFiles, runTestFiles } from './test-files.ts';
import { refuses } from './words.ts';

interface Part {
  /** Whether the kind includes a file, by path and text. */
  readonly has: (file: string, text: string) => boolean;
  /** Variables that increase the number of inputs, unless set. */
  readonly variable: string;
  readonly value: string;
}

const parts: Readonly<Record<string, Part>> = {
  webhooks: { has: (file) => file.includes('webhook-fuzz'), variable: 'WEBHOOK_FUZZ_ROUNDS', value: '100000' },
  archives: { has: (file) => file.includes('artifacts/archive-fuzz'), variable: 'FUZZ_RUNS', value: '100000' },
  random: { has: (_, text) => text.includes('fuzzRounds'), variable: 'FUZZ_TIMES', value: '10' },
};

/** @param words the parts to run; all if there are none. */
export async function run(words: readonly string[]): Promise<number> {
  if (refuses('npm test -- fuzz', words, (word) => word in parts, Object.keys(parts))) return 2;
  let code = 0;
  for (const [name, { has, variable, value }] of Object.entries(parts)) {
    if (words.length > 0 && !words.includes(name)) continue;
    const files = allTestFiles().filter((file) => has(file, readFileSync(path.join(root, file), 'utf8')));
    process.env[variable] ??= value;
    code = (await runTestFiles(files, [])) || code;
    delete process.env[variable];
  }
  return code;
}
