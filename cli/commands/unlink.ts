// `platform unlink`: removes the link of this folder. Nothing changes on the platform.
import { defineCommand } from 'citty';
import { removeLink } from '../project/link.ts';
import type { Shell } from '../terminal/shell.ts';
import { print } from '../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'unlink', description: 'Unlink this folder' },
  args: { json: { type: 'boolean', description: 'Print JSON' } },
  run({ args, data }) {
    const shell = data as Shell;
    const unlinked = removeLink(shell.cwd);
    print(shell, args.json, { unlinked }, () =>
      shell.out(unlinked ? `${shell.paint('green', 'Unlinked')} this folder` : 'This folder is not linked'),
    );
  },
});
