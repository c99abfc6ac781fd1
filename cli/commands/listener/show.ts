// `platform listener`: shows which HTTP listener the platform on this machine opens at its next start, and why.
import { defineCommand } from 'citty';
import { hasUwsPackage, installedUws, uwsProblem, uwsSystem } from '#core/process/uws.ts';
import { dataFolder } from '../../local/locations.ts';
import { listenerText } from '../../start/listener-text.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'show', description: 'Show which HTTP listener the next start opens, and why' },
  args: { json: { type: 'boolean', description: 'Print JSON' } },
  run({ args, data }) {
    const shell = data as Shell;
    const system = uwsSystem();
    const kept = hasUwsPackage() ? null : installedUws(dataFolder(shell));
    const file = kept !== null && 'file' in kept ? kept.file : null;
    const wanted = shell.env['HANDLER_LISTENER']?.trim();
    const reason =
      wanted === 'node'
        ? 'HANDLER_LISTENER is node'
        : (uwsProblem(system) ?? (kept !== null && 'reason' in kept ? kept.reason : null));
    const technology = reason === null ? 'uws' : 'node';
    print(shell, args.json, { technology, reason, file }, () => {
      shell.out(listenerText({ technology, reason }, shell, false, system));
      if (file !== null) shell.out(`Installed: ${file}`);
    });
  },
});
