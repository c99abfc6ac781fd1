// The packages of test/packages in workers: which worker files are served, and whether the packages are installed at
// all. A plain `npm test` does without them; CI installs them first.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { BindingStores } from '#runtime/engine/bindings/bindings.ts';
import { startHandler, type TestHandler } from './handler.ts';

const folder = join(import.meta.dirname, '../packages');

/** What node:test gets as `skip`. */
export const skipPackages: string | false = existsSync(join(folder, 'node_modules'))
  ? false
  : 'run: npm ci --prefix test/packages';

/** Serves `test/packages/workers/<name>.js` for each name. */
export function startPackages(
  names: readonly string[],
  vars: Readonly<Record<string, string>> = {},
  options: { readonly stores?: BindingStores; /** More of platform.yaml. */ readonly yaml?: string } = {},
): Promise<TestHandler> {
  const yaml = (name: string): string =>
    `main: workers/${name}.js\ncompatibility_flags: [nodejs_compat]\n${options.yaml ?? ''}`;
  return startHandler(
    Object.fromEntries(
      names.map((name) => [name, { files: {}, folder, yaml: yaml(name), vars, plan: 'enterprise' as const }]),
    ),
    {},
    options.stores === undefined ? {} : { stores: options.stores },
  );
}
