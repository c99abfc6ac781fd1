// Before and after a whole test run (`npm test`): one Postgres for all files, when one of them wants it.
import { readFileSync } from 'node:fs';
import { startTestPostgres } from './postgres-server.ts';

let server: { stop(): Promise<void> } | null = null;

export async function globalSetup(): Promise<void> {
  const files = process.argv.filter((word) => word.endsWith('.test.ts'));
  if (files.some((file) => /setup\/(?:events-)?postgres\.ts/.test(readFileSync(file, 'utf8'))))
    server = await startTestPostgres();
}

export async function globalTeardown(): Promise<void> {
  await server?.stop();
}
