// `platform login`: logs in to a platform. `platform auth login` is the same.
import { defineCommand } from 'citty';
import { apiFlags } from '../account/api.ts';
import { login } from '../account/session.ts';
import type { Shell } from '../terminal/shell.ts';

/** Flags of a login. */
export const loginFlags = {
  browser: {
    type: 'boolean',
    default: true,
    description: 'Open the browser',
    negativeDescription: 'Print a URL and a code for a browser on any device',
  },
  token: { type: 'boolean', description: 'Read a token from standard input' },
} as const;

export const command = defineCommand({
  meta: { name: 'login', description: 'Log in to a platform' },
  args: { ...apiFlags, ...loginFlags, json: { type: 'boolean', description: 'Print JSON' } },
  run: ({ args, data }) => login(data as Shell, args),
});
