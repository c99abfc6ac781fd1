// One attack in a process of its own: `node test/hostile/attack-process.ts <name>` prints its verdict as the last line.
// Started by main.ts.
import { join } from 'node:path';
import { runAttack, type Attack } from '#test/setup/hostile.ts';

const { default: attack } = (await import(join(import.meta.dirname, 'attacks', `${process.argv[2]}.ts`))) as {
  default: Attack;
};
const verdict = await runAttack(attack);
process.stdout.write(`\n${JSON.stringify(verdict)}\n`, () => process.exit(0));
