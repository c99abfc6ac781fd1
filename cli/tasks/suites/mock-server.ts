// `npm test -- mock-server`: runs the suites of bindings with workers in Node, whose bindings call the mock server.
import { allTestFiles, runTestFiles } from './test-files.ts';
import { refuses } from './words.ts';

const SUITES = [
  'contract/database-binding',
  'contract/event-bindings',
  'integration/state',
  'integration/files',
  'integration/large-files',
  'integration/auth',
  'integration/ai-socket',
  'integration/cache-binding',
];

/** @param words options for node:test. */
export async function run(words: readonly string[]): Promise<number> {
  if (refuses('npm test -- mock-server', words, () => false, ['no parts'])) return 2;
  process.env['TEST_BINDINGS'] = 'node';
  const files = allTestFiles().filter((file) => SUITES.some((part) => file.includes(part)));
  return runTestFiles(
    files,
    words.filter((word) => word.startsWith('--')),
  );
}
