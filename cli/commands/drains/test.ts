// `platform drains test <drain>`: sends a test line to a log drain.
import { defineCommand } from 'citty';
import { needProject, targetFlags } from '../../api/project.ts';
import { ask } from '../../api/requests.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import { drainOf, drainsPath, targetOf } from './find.ts';

export const command = defineCommand({
  meta: { name: 'test', description: 'Send a test line to a log drain' },
  args: {
    drain: { type: 'positional', required: true, description: 'Name or ID' },
    ...targetFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, project } = await needProject(shell, args, 'platform drains test');
    const drain = await drainOf(api, project, args.drain);
    const tested = await ask<{ ok: boolean; status: number | null; error: string | null }>(
      api,
      'POST',
      `${drainsPath(project)}/${encodeURIComponent(drain.id)}/test`,
    );
    if (!tested.ok)
      throw new CliError(`The test of ${drain.name} failed: ${tested.error ?? ''}`, {
        advice: `Check ${targetOf(drain)}.`,
      });
    print(shell, args.json, tested, () =>
      shell.out(`${shell.paint('green', 'Sent')} a test line to ${targetOf(drain)}`),
    );
  },
});
