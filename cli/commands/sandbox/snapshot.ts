// `platform sandbox snapshot <id> [snapshot]`: creates a snapshot of the files of a sandbox.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatBytes, print } from '../../terminal/table.ts';
import { needSandbox, sandboxFlags, sandboxId } from './find.ts';
import type { SandboxSnapshot } from './list-snapshots.ts';

export const command = defineCommand({
  meta: { name: 'snapshot', description: 'Create a snapshot of the files of a sandbox' },
  args: {
    ...sandboxId,
    snapshot: { type: 'positional', required: false, description: 'ID of the snapshot (default: generated)' },
    ...sandboxFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, path, query, binding } = await needSandbox(shell, args, 'platform sandbox snapshot');
    const asked = { query: { ...query, snapshot: args.snapshot } };
    const taken = await ask<SandboxSnapshot>(api, 'POST', `${path}/snapshot`, asked);
    print(shell, args.json, { binding, ...taken }, () =>
      shell.out(
        `${shell.paint('green', 'Created')} the snapshot ${taken.id} of ${args.id}: ${formatBytes(taken.sizeBytes)}`,
      ),
    );
  },
});
