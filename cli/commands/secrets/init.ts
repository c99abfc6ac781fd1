// `platform secrets init`: generates missing or weak secrets of an installation in .env.
import { defineCommand } from 'citty';
import path from 'node:path';
import { packageFolder } from '../../local/locations.ts';
import { makeSecrets } from '../../secrets/make-secrets.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'init', description: 'Generate missing or weak secrets of an installation in .env' },
  args: {
    file: {
      type: 'string',
      valueHint: 'path',
      default: '.env',
      description: 'The file; created if it does not exist',
    },
    json: { type: 'boolean', description: 'Print JSON: names without values' },
  },
  run({ args, data }) {
    const shell = data as Shell;
    const file = path.resolve(shell.cwd, args.file);
    const made = makeSecrets(file, path.join(packageFolder, '.env.example'));
    print(shell, args.json, made, () => {
      for (const name of made.made) shell.out(`${shell.paint('green', 'Generated')} ${name}`);
      for (const name of made.replaced) shell.out(`${shell.paint('yellow', 'Replaced')} ${name}, which was weak`);
      for (const name of made.weak)
        shell.err(
          `${shell.paint('yellow', 'Weak')} ${name}: not replaced, because it protects existing data; see docs/self-hosting.md`,
        );
      shell.out(`${made.kept.length} strong secrets are unchanged. Only you can read ${args.file} (mode 0600)`);
    });
  },
});
