// `platform api project deploy <project> <ref>`: `platform deploy --remote` for any project.
import { defineCommand } from 'citty';
import { targetFlags } from '../../api/project.ts';
import { platformFlags } from '../../api/target.ts';
import { deployRemotely } from '../../deploy/deploy-remote.ts';
import type { Shell } from '../../terminal/shell.ts';

export const command = defineCommand({
  meta: { name: 'deploy', description: 'Build a branch or a commit on the platform' },
  args: {
    project: { type: 'positional', required: true, description: 'Name or id' },
    ref: { type: 'positional', required: true, description: 'Branch or commit' },
    org: targetFlags.org,
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  run: ({ args, data }) => deployRemotely(data as Shell, { ...args, name: args.project }),
});
