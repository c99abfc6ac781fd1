// `platform vite build`: builds the environments of Vite; `platform build` creates one artifact from them.
import { defineCommand } from 'citty';
import type { Shell } from '../../terminal/shell.ts';
import { runVite } from '../../vite/run-vite.ts';
import { viteRunOf } from '../../vite/words.ts';

export const command = defineCommand({
  meta: { name: 'build', description: 'Build with Vite; other flags are passed to Vite' },
  args: {
    'platform-config': {
      type: 'string',
      valueHint: 'path',
      description: 'Configuration file (default: platform.yaml)',
    },
  },
  run({ rawArgs, data }) {
    const shell = data as Shell;
    return runVite(shell, viteRunOf(shell, 'build', rawArgs));
  },
});
