// Runs several test files in one process sequentially, each as a suite imported after the previous one has ended.
// Called by the modules written by run-files.ts.
import { describe, test } from 'node:test';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../tools/processes.ts';
import { usedSeconds, writeMeasure } from './measure-process.ts';

/**
 * Registers the files of a process with node:test.
 *
 * Each suite is inside a test. Without tests around them, all suites would import their files at once; if two of them
 * waited for the same module, V8 would run both in the context of the first, whose suite would get the tests and hooks
 * of both.
 *
 * @param files paths relative to the checkout.
 */
export function runTogether(files: readonly string[]): void {
  for (const file of files) {
    void test(file, async () => {
      const began = usedSeconds();
      await describe(file, async () => {
        await import(pathToFileURL(path.join(root, file)).href);
      });
      writeMeasure({ file, cpuSeconds: usedSeconds() - began });
    });
  }
}
