// `platform listener install`: puts uWebSockets.js, whose binary must have the pinned hash, into the data folder.
// Fetches the package with npm, or reads a file. `npm ci` never does this.
import { defineCommand } from 'citty';
import { UWS_PACKAGE, uwsProblem, uwsSystem } from '#core/process/uws.ts';
import { dataFolder } from '../../local/locations.ts';
import { installListener } from '../../start/install-listener.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';

export const command = defineCommand({
  meta: { name: 'install', description: 'Install uWebSockets.js as the HTTP listener' },
  args: {
    from: {
      type: 'string',
      valueHint: 'file',
      description: `Archive of ${UWS_PACKAGE.spec} or of a release, or the .node file; default: npm fetches it`,
    },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const system = uwsSystem();
    const problem = uwsProblem(system);
    if (problem !== null)
      throw new CliError(problem, {
        advice: 'Nothing was installed: node:http serves here. Debian 13 and Ubuntu 24.04 have glibc 2.38 or newer.',
      });
    await installListener(shell, { folder: dataFolder(shell), from: args.from ?? null, system });
  },
});
