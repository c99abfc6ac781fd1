// `npm test -- uws`: tests the listener over uWebSockets.js: its contract, and workers that it serves. uWebSockets.js
// is a package of bench/, and needs a newer C library than Debian 12 has.
import { nodeFlags } from '#core/node-flags.mjs';
import { root, runProgram } from '../tools/processes.ts';
import { refuses } from './words.ts';

const PARTS = ['contract', 'workers'];
const WORKERS = [
  'worker-basics',
  'request-bodies',
  'streamed-responses',
  'fetched-bodies',
  'websocket',
  'bad-workers',
  'client-leaves',
];

/** @param words `contract` or `workers`; both if there are none. */
export async function run(words: readonly string[]): Promise<number> {
  if (refuses('npm test -- uws', words, (word) => PARTS.includes(word), PARTS)) return 2;
  const isChosen = (part: string): boolean => words.length === 0 || words.includes(part);
  let code = 0;
  if (isChosen('contract'))
    for (const part of ['listener-uws', 'uws-install'])
      code ||= await overUws([`test/contract/${part}.test.ts`], { UWS_REQUIRED: '1' });
  if (isChosen('workers'))
    for (const part of WORKERS) code ||= await overUws([`test/integration/${part}.test.ts`], { TEST_LISTENER: 'uws' });
  return code;
}

/** One file per process: child processes do not inherit the library. */
async function overUws(files: readonly string[], environment: Readonly<Record<string, string>>): Promise<number> {
  const flags = [...nodeFlags, '--no-warnings', '--test-reporter=spec', '--test-force-exit'];
  const args = [process.execPath, ...flags, ...files];
  const env = { ...process.env, ...environment };
  return (await runProgram('.ci/with-new-glibc', args, { cwd: root, show: true, env })).code;
}
