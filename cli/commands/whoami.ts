// `platform whoami`: shows the user's identity on the chosen platform.
import { defineCommand } from 'citty';
import { apiFlags } from '../account/api.ts';
import { whoami } from '../account/session.ts';
import type { Shell } from '../terminal/shell.ts';

export const command = defineCommand({
  meta: { name: 'whoami', description: 'Show who you are to the platform' },
  args: { ...apiFlags, json: { type: 'boolean', description: 'Print JSON' } },
  run: ({ args, data }) => whoami(data as Shell, args),
});
