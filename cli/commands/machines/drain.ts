// `platform machines drain NAME`: takes a machine out of service, and waits until its requests have ended. For
// operators.
import { setTimeout as pause } from 'node:timers/promises';
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import { whileShown } from '../../terminal/elapsed.ts';
import { CliError } from '../../terminal/failure.ts';
import { plain } from '../../terminal/plain.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import type { Machine } from './machine.ts';

const LOOK_MS = 1000;

export const command = defineCommand({
  meta: { name: 'drain', description: 'Take a machine out of service without losing requests' },
  args: {
    name: { type: 'positional', required: true, description: 'Name of the machine' },
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform machines drain');
    let machine = await ask<Machine>(api, 'POST', `/operator/machines/${encodeURIComponent(args.name)}/drain`);
    await whileShown(shell, plain(`Draining ${args.name}`), async () => {
      while (machine.status === 'draining') {
        await pause(LOOK_MS);
        const { items } = await ask<{ items: readonly Machine[] }>(api, 'GET', '/operator/machines');
        const found = items.find(({ name }) => name === args.name);
        if (found === undefined) throw new CliError(plain(`${args.name} has stopped`));
        machine = found;
      }
    });
    if (machine.status !== 'drained')
      throw new CliError(plain(`${args.name} is ${machine.status}, and not drained`), {
        advice: 'Check its log.',
      });
    print(shell, args.json, machine, () => {
      shell.out(plain(`${shell.paint('green', 'Drained')} ${args.name}: it serves no requests`));
      shell.out(shell.paint('dim', 'Stop the machine, or restart it to use it again'));
    });
  },
});
