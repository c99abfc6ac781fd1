// Finds the TypeScript compiler of this checkout. Starting it directly avoids its wrapper process, which takes longer
// than checking a small project. Not packed.
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './processes.ts';

const finder = pathToFileURL(path.join(root, 'node_modules/typescript/lib/getExePath.js')).href;

/** Path of `tsc`. */
export async function compilerPath(): Promise<string> {
  const { default: find } = (await import(finder)) as { default: () => string };
  return find();
}
