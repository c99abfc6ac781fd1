// `platform logout`: deletes a login from this machine. `platform auth logout` is the same.
import { defineCommand } from 'citty';
import { apiFlags } from '../account/api.ts';
import { logout } from '../account/session.ts';
import type { Shell } from '../terminal/shell.ts';

/** Flags of a logout. */
export const logoutFlags = { all: { type: 'boolean', description: 'Log out of all platforms' } } as const;

export const command = defineCommand({
  meta: { name: 'logout', description: 'Log out of a platform' },
  args: { ...apiFlags, ...logoutFlags, json: { type: 'boolean', description: 'Print JSON' } },
  run: ({ args, data }) => logout(data as Shell, args),
});
