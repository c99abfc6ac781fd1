// Where the TypeScript compiler of this checkout is. Its package starts it through a Node that only looks for it, which
// costs more than a small project takes to check. Not packed.
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './processes.ts';

const finder = pathToFileURL(path.join(root, 'node_modules/typescript/lib/getExePath.js')).href;

/** The program `tsc`. */
export async function compilerPath(): Promise<string> {
  const { default: find } = (await import(finder)) as { default: () => string };
  return find();
}
