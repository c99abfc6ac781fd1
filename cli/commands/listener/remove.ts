// `platform listener remove`: removes the files that `platform listener install` stored.
import { existsSync, rmSync } from 'node:fs';
import { defineCommand } from 'citty';
import { uwsFolder } from '#core/process/uws.ts';
import { dataFolder } from '../../local/locations.ts';
import type { Shell } from '../../terminal/shell.ts';

export const command = defineCommand({
  meta: { name: 'remove', description: 'Remove the installed uWebSockets.js' },
  run({ data }) {
    const shell = data as Shell;
    const folder = uwsFolder(dataFolder(shell));
    if (!existsSync(folder)) {
      shell.out('uWebSockets.js is not installed');
      return;
    }
    rmSync(folder, { recursive: true });
    shell.out(`${shell.paint('green', 'Removed')} ${folder}: the next start opens node:http`);
  },
});
