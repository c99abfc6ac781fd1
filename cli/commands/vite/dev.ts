// `platform vite dev`: Vite's dev server, with the worker in its isolate.
import { defineCommand } from 'citty';
import type { Shell } from '../../terminal/shell.ts';
import { runVite } from '../../vite/run-vite.ts';
import { viteRunOf } from '../../vite/words.ts';

export const command = defineCommand({
  meta: { name: 'dev', description: 'Serve with Vite, with the worker in an isolate; other flags are passed to Vite' },
  args: {
    'platform-config': {
      type: 'string',
      valueHint: 'path',
      description: 'Configuration file (default: platform.yaml)',
    },
  },
  run({ rawArgs, data }) {
    const shell = data as Shell;
    return runVite(shell, viteRunOf(shell, 'dev', rawArgs));
  },
});
