// `platform machines list`: the machines of the installation. For operators.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatTime, print, printTable } from '../../terminal/table.ts';
import type { Machine } from './machine.ts';

const GB = 1024 ** 3;

export const command = defineCommand({
  meta: { name: 'list', description: 'List the machines of the installation' },
  args: { ...platformFlags, json: { type: 'boolean', description: 'Print JSON' } },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform machines list');
    const { items } = await ask<{ items: readonly Machine[] }>(api, 'GET', '/operator/machines');
    print(shell, args.json, { machines: items }, () =>
      printTable(shell, {
        columns: ['name', 'status', 'address', 'parts', 'version', 'memory free', 'disk free', 'seen'],
        rows: items.map((machine) => [
          machine.name,
          machine.status,
          machine.upstream ?? machine.privateOrigin ?? 'this machine only',
          machine.parts.join(' '),
          machine.version,
          `${inGb(machine.memoryFreeBytes)} of ${inGb(machine.memoryBytes)}`,
          `${inGb(machine.diskFreeBytes)} of ${inGb(machine.diskBytes)}`,
          formatTime(machine.seenAt),
        ]),
        empty: 'No machines: parts without DATABASE_URL do not announce their machine',
      }),
    );
  },
});

function inGb(bytes: number): string {
  return `${(bytes / GB).toFixed(1)} GB`;
}
