// `platform secrets init`: makes what is missing or weak among the secrets of an installation, in .env.
import { defineCommand } from 'citty';
import path from 'node:path';
import { packageFolder } from '../../local/locations.ts';
import { makeSecrets } from '../../secrets/make-secrets.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'init', description: 'Make the secrets of an installation that are missing or weak, in .env' },
  args: {
    file: {
      type: 'string',
      valueHint: 'path',
      default: '.env',
      description: 'The file; it is made where it is not there',
    },
    json: { type: 'boolean', description: 'Print JSON: names, no values' },
  },
  run({ args, data }) {
    const shell = data as Shell;
    const file = path.resolve(shell.cwd, args.file);
    const made = makeSecrets(file, path.join(packageFolder, '.env.example'));
    print(shell, args.json, made, () => {
      for (const name of made.made) shell.out(`${shell.paint('green', 'Made')} ${name}`);
      for (const name of made.replaced) shell.out(`${shell.paint('yellow', 'Replaced')} ${name}, which was weak`);
      for (const name of made.weak)
        shell.err(
          `${shell.paint('yellow', 'Weak')} ${name}: what it protects is in use, so it is left; docs/self-hosting.md says how to change it`,
        );
      shell.out(`${made.kept.length} good ones stay as they are. ${args.file} is yours alone (mode 0600)`);
    });
  },
});
