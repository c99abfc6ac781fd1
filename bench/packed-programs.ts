// Programs to compare: this checkout, and the output of `npm run pack` with the packages of the checkout. Used by
// dev.bench.ts and idle-memory.bench.ts.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { stageProgram } from '../cli/tasks/pack.ts';
import { bundleEntries } from '../cli/tasks/release/bundles.ts';
import { temporaryFolder } from './cleanup.ts';

export const root = path.join(import.meta.dirname, '..');

/**
 * @param name `checkout`; `modules`: packed, without bundles; `bundles`: as it is packed.
 * @returns the folder of the program, which is gone at the end.
 * @throws {Error} for another name.
 */
export async function programOf(name: string): Promise<string> {
  if (name === 'checkout') return root;
  if (name !== 'modules' && name !== 'bundles')
    throw new Error(`there is no program ${name}: checkout, modules, bundles`);
  const program = stageProgram(temporaryFolder('platform-bench-program-'));
  symlinkSync(path.join(root, 'node_modules'), path.join(program, 'node_modules'));
  // Only browsers ask for it.
  mkdirSync(path.join(program, 'dashboard/dist'), { recursive: true });
  writeFileSync(path.join(program, 'dashboard/dist/index.html'), '');
  if (name === 'bundles') await bundleEntries(program);
  return program;
}
