// Settings of this machine's npm, as variables for an npm that would not find them: with another Node first in the
// PATH, npm has another global npmrc.
import { execFileSync } from 'node:child_process';

/** Values of settings, as `npm_config_*` variables; settings without a value are left out. */
export function npmSettings(...names: readonly string[]): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const name of names) {
    const value = execFileSync('npm', ['config', 'get', name], { encoding: 'utf8' }).trim();
    if (value !== 'null') settings[`npm_config_${name}`] = value;
  }
  return settings;
}
