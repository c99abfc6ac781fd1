// `platform sandbox snapshots rm <snapshot>`: deletes a snapshot.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import { confirm, yesFlag } from '../../terminal/confirm.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import { checkSandboxId, needSnapshots, sandboxFlags } from './find.ts';

export const command = defineCommand({
  meta: { name: 'rm', description: 'Delete a snapshot; sandboxes created from it keep their files' },
  args: {
    snapshot: { type: 'positional', required: true, description: 'ID of the snapshot' },
    ...yesFlag,
    ...sandboxFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    checkSandboxId(args.snapshot, 'snapshot');
    const { api, path, query, binding } = await needSnapshots(shell, args, 'platform sandbox snapshots rm');
    await confirm(shell, args.yes, `The snapshot ${args.snapshot} of ${binding} will be deleted.`);
    await ask(api, 'DELETE', `${path}/${args.snapshot}`, { query });
    print(shell, args.json, { binding, removed: args.snapshot }, () =>
      shell.out(`${shell.paint('green', 'Removed')} ${args.snapshot}`),
    );
  },
});
