// Number of migrations of this version of the platform, without reading them.
import { readdirSync } from 'node:fs';
import path from 'node:path';

export function schemaVersion(): number {
  return readdirSync(path.join(import.meta.dirname, 'migrations')).filter((name) => name.endsWith('.sql')).length;
}
