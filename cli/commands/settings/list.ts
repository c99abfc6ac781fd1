// `platform settings list`: the settings of the platform that take effect without a restart. For operators.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatTime, print, printTable } from '../../terminal/table.ts';

interface Setting {
  readonly name: string;
  readonly value: string | null;
  readonly isSecret: boolean;
  readonly source: 'environment' | 'platform' | 'default';
  readonly changedBy: string | null;
  readonly changedAt: string | null;
}

export const command = defineCommand({
  meta: { name: 'list', description: 'List the settings that take effect without a restart' },
  args: { ...platformFlags, json: { type: 'boolean', description: 'Print JSON' } },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform settings list');
    const { items } = await ask<{ items: readonly Setting[] }>(api, 'GET', '/operator/settings');
    print(shell, args.json, { settings: items }, () =>
      printTable(shell, {
        columns: ['name', 'value', 'from', 'changed', 'by'],
        rows: items.map(({ name, value, isSecret, source, changedBy, changedAt }) => [
          name,
          value ?? (isSecret && source !== 'default' ? '(hidden)' : ''),
          source,
          formatTime(changedAt),
          changedBy,
        ]),
        empty: '',
      }),
    );
  },
});
