// `platform auth login|logout|whoami`: the same as `platform login`, `logout` and `whoami`.
import { defineCommand } from 'citty';
import { nearestWord } from '#core/spelling.ts';
import { apiFlags } from '../account/api.ts';
import { login, logout, whoami } from '../account/session.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import { loginFlags } from './login.ts';
import { logoutFlags } from './logout.ts';

const actions = { login, logout, whoami };

export const command = defineCommand({
  meta: { name: 'auth', description: 'Log in and out' },
  args: {
    action: { type: 'positional', required: true, description: 'login, logout or whoami' },
    ...apiFlags,
    ...loginFlags,
    ...logoutFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  run({ args, data }) {
    const { action } = args;
    if (Object.hasOwn(actions, action)) return actions[action as keyof typeof actions](data as Shell, args);
    const near = nearestWord(action, Object.keys(actions));
    throw new CliError(`\`platform auth\` cannot ${action}${near === undefined ? '' : `. Did you mean ${near}?`}`, {
      exitCode: 2,
      advice: 'Run `platform auth --help` for usage.',
    });
  },
});
