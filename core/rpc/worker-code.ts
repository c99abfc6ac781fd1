// The worker of worker.mjs and events.mjs as a bundle. `platform dev` serves it next to a project, and it is the worker
// of projects whose own code runs in Node.
import { readFileSync } from 'node:fs';
import { bindings } from '../bindings/kinds.ts';

const methodsByKind = Object.fromEntries(Object.entries(bindings).map(([kind, { methods }]) => [kind, methods]));

/**
 * The code of the worker, an ES module. @param bytesMax limit of a call in JSON, and of a stream that is read to its
 * end.
 */
export function rpcWorkerCode(bytesMax: number): string {
  const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');
  const worker = read('./worker.mjs')
    .replace(/^import .*\n/m, '')
    .replace(/(?<=^const BYTES_MAX = )[\d_]+/m, String(bytesMax))
    .replace(/(?<=^const declaredKinds = )\{\}/m, JSON.stringify(methodsByKind));
  return `${read('./events.mjs').replace(/^export (?=function)/m, '')}\n${worker}`;
}
