// The worker of worker.mjs as a bundle: `platform dev` serves it beside a project, and it is the worker of a project
// whose own code runs in Node.
import { readFileSync } from 'node:fs';

/** Its code, an ES module without imports. @param bytesMax of a stream that is read to its end. */
export function rpcWorkerCode(bytesMax: number): string {
  return readFileSync(new URL('./worker.mjs', import.meta.url), 'utf8').replaceAll('BYTES_MAX', String(bytesMax));
}
