// Before and after a whole test run (`npm test`): one Postgres for all files, when one of them wants it; one Chromium
// and one platform for those of test/browser/.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { startTestPostgres } from './postgres-server.ts';

const started: { stop(): Promise<void> }[] = [];

export async function globalSetup(): Promise<void> {
  const files = process.argv.filter((word) => word.endsWith('.test.ts'));
  if (files.some((file) => reachesPostgres(path.resolve(file), new Set()))) started.push(await startTestPostgres());
  const inBrowser = files.filter((file) => file.includes('test/browser/'));
  if (inBrowser.length === 0) return;
  const { startBrowserSuite } = await import('./browser-suite.ts');
  started.push(await startBrowserSuite(inBrowser));
}

export async function globalTeardown(): Promise<void> {
  for (const one of started.toReversed()) await one.stop();
}

/** Whether a file imports postgres.ts of this folder, by way of others too: startControl opens a database. */
function reachesPostgres(file: string, seen: Set<string>): boolean {
  if (file === path.join(import.meta.dirname, 'postgres.ts')) return true;
  if (seen.has(file) || !existsSync(file)) return false;
  seen.add(file);
  const imports = readFileSync(file, 'utf8').matchAll(/from '(#test\/setup|\.)\/([a-z0-9-]+\.ts)'/g);
  return [...imports].some(([, folder, name]) =>
    reachesPostgres(path.join(folder === '.' ? path.dirname(file) : import.meta.dirname, name!), seen),
  );
}
