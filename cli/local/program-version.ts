// The version of this program: in its manifest, both in the repository and packed.
import { createRequire } from 'node:module';

export function programVersion(): string {
  return (createRequire(import.meta.url)('../../package.json') as { version: string }).version;
}
