// `npm run test:durability`: twenty rounds of kill -9 under load, five in runs of an agent (AGENT_KILL_ROUNDS), and a
// backup under load, a wipe and a restore (test/durability/); a number asks for other rounds.
import { root, runProgram } from './processes.ts';
import { nodeFlags } from '#core/node-flags.mjs';

export async function run(words: readonly string[]): Promise<number> {
  const args = [
    ...nodeFlags,
    '--test',
    '--test-reporter=spec',
    '--test-concurrency=1',
    'test/durability/kill-9.test.ts',
    'test/durability/agent.test.ts',
    'test/durability/deploys.test.ts',
    'test/durability/migrator.test.ts',
    'test/durability/restore.test.ts',
  ];
  const env = { ...process.env, DURABILITY_ROUNDS: words[0] ?? '20' };
  return (await runProgram(process.execPath, args, { cwd: root, show: true, env })).code;
}
