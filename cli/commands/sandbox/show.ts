// `platform sandbox info <id>`: shows a sandbox.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print, printTable } from '../../terminal/table.ts';
import { needSandbox, sandboxFlags, sandboxId, sayMissing } from './find.ts';
import { toTime, type SandboxInfo } from './list.ts';

/** The network access, in the format of the flag `--egress`. */
function egressOf({ egress }: SandboxInfo): string | null {
  if (egress === null || egress === undefined) return null;
  return egress.mode === 'allow' ? egress.allow.join(',') : egress.mode;
}

export const command = defineCommand({
  meta: { name: 'info', description: 'Show a sandbox' },
  args: { ...sandboxId, ...sandboxFlags },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, path, query, binding } = await needSandbox(shell, args, 'platform sandbox info');
    const info = await ask<SandboxInfo>(api, 'GET', path, { query }).catch(
      sayMissing(`${binding} has no sandbox ${args.id}`, '`platform sandbox list` lists the sandboxes.'),
    );
    print(shell, args.json, { binding, ...info }, () =>
      printTable(shell, {
        columns: ['field', 'value'],
        rows: [
          ['id', info.id],
          ['binding', binding],
          ['state', info.state],
          ['machine', info.machine ?? null],
          ['image', info.image ?? null],
          ['egress', egressOf(info)],
          ['ai', typeof info.ai === 'boolean' ? (info.ai ? 'on' : 'off') : null],
          ['provider', info.provider],
          ['created', toTime(info.createdAt)],
          ['last active', toTime(info.lastActiveAt)],
        ],
        empty: '',
      }),
    );
  },
});
