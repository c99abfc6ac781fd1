// The worker of worker.mjs as a bundle: `platform dev` serves it beside a project, and it is the worker of a project
// whose own code runs in Node.
import { readFileSync } from 'node:fs';

/** Its code, an ES module. @param bytesMax of a call in JSON, and of a stream that is read to its end. */
export function rpcWorkerCode(bytesMax: number): string {
  const source = readFileSync(new URL('./worker.mjs', import.meta.url), 'utf8');
  return source.replace(/(?<=^const BYTES_MAX = )[\d_]+/m, String(bytesMax));
}
