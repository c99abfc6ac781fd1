// `platform db move PROJECT --to MACHINE`: moves a project's databases and durable objects. For operators.
import { setTimeout as pause } from 'node:timers/promises';
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import { whileShown } from '../../terminal/elapsed.ts';
import { CliError } from '../../terminal/failure.ts';
import { plain } from '../../terminal/plain.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

/** A move, as the API returns it. */
interface Home {
  readonly project: string;
  readonly machine: string;
  readonly movingTo: string | null;
  readonly problem: string | null;
}

const LOOK_MS = 500;
const LOOKS_MAX = 240;

export const command = defineCommand({
  meta: { name: 'move', description: "Move a project's databases and durable objects to another machine" },
  args: {
    project: { type: 'positional', required: true, description: 'Name of the project' },
    to: { type: 'string', required: true, valueHint: 'machine', description: 'Name of the machine' },
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform db move');
    const path = `/operator/database-homes/${encodeURIComponent(args.project)}`;
    let home = await ask<Home>(api, 'POST', `${path}/move`, { body: { machine: args.to } });
    await whileShown(shell, plain(`Moving ${args.project}`), async () => {
      for (let looks = 0; home.movingTo !== null && looks < LOOKS_MAX; looks++) {
        await pause(LOOK_MS);
        home = await ask<Home>(api, 'GET', path);
      }
    });
    if (home.machine !== args.to)
      throw new CliError(
        plain(home.problem === null ? `${args.project} is still on ${home.machine}` : `Not moved: ${home.problem}`),
        {
          advice: `The data is still served by ${home.machine}. \`platform machines\` shows whether both machines are running.`,
        },
      );
    print(shell, args.json, home, () =>
      shell.out(plain(`${shell.paint('green', 'Moved')} the databases of ${args.project} to ${home.machine}`)),
    );
  },
});
