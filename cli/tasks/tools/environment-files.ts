// Generates env.d.ts of examples and templates, which are not in Git. Called by check.ts and pack.ts.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { environmentTypes } from '#core/config/environment-types.ts';
import { parseProjectConfig } from '#core/config/project-config.ts';

/**
 * Writes `env.d.ts` next to the platform.yaml of a folder, as `platform types` does.
 *
 * @throws {Error} for an invalid platform.yaml.
 */
export function writeEnvironmentFile(folder: string): void {
  const file = path.join(folder, 'platform.yaml');
  const { config, problems } = parseProjectConfig(readFileSync(file, 'utf8'), { file });
  if (config === null) throw new Error(`${file}: ${problems.map(({ message }) => message).join(', ')}`);
  writeFileSync(path.join(folder, 'env.d.ts'), environmentTypes(config));
}
