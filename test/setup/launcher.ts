// The launcher in an installation of its own, for tests of what it does with a program.
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

/** @param main what the program does. @returns path of the launcher. */
export function installLauncher(t: TestContext, main: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'launcher-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const name of ['cli', 'core']) mkdirSync(path.join(folder, name));
  writeFileSync(path.join(folder, 'package.json'), '{"type":"module","imports":{"#core/*":"./core/*"}}');
  for (const name of ['cli/run.mjs', 'core/node-flags.mjs'])
    copyFileSync(fileURLToPath(import.meta.resolve(`#${name}`)), path.join(folder, name));
  writeFileSync(path.join(folder, 'cli/main.js'), main);
  return path.join(folder, 'cli/run.mjs');
}
