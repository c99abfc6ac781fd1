// Runs several test files in this process, one after the other: each is a suite, so that its hooks are its own. The
// modules that run-files.ts writes call it. What stands at the top of a file runs before the tests of all files.
import { after, before, describe } from 'node:test';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../processes.ts';
import { usedSeconds, writeMeasure } from './measure-process.ts';

/**
 * Registers the files of a process with node:test.
 *
 * @param files paths relative to the checkout.
 */
export function runTogether(files: readonly string[]): void {
  for (const file of files) {
    describe(file, async () => {
      let began = 0;
      before(() => (began = usedSeconds()));
      await import(pathToFileURL(path.join(root, file)).href);
      // Hooks run in the order of their registration: this one is the last of the file.
      after(() => writeMeasure({ file, cpuSeconds: usedSeconds() - began }));
    });
  }
}
