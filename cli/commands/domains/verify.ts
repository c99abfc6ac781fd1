// `platform domains verify <hostname>`: checks the DNS record that proves ownership.
import { defineCommand } from 'citty';
import { needProject, targetFlags } from '../../api/project.ts';
import type { Domain } from '../../api/records.ts';
import { ask } from '../../api/requests.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import { domainOf } from './find.ts';

export const command = defineCommand({
  meta: { name: 'verify', description: 'Verify a custom domain' },
  args: {
    hostname: { type: 'positional', required: true, description: 'The domain' },
    ...targetFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, project } = await needProject(shell, args, 'platform domains verify');
    const { id, hostname } = await domainOf(api, project, args.hostname);
    const domain = await ask<Domain>(api, 'POST', `/domains/${encodeURIComponent(id)}/verify`);
    if (domain.verifiedAt === null) {
      const { type, name, value } = domain.verification ?? {};
      throw new CliError(`${hostname} is not verified yet: ${domain.problem ?? 'its DNS record was not found'}`, {
        advice:
          value === undefined
            ? 'Try again in a few minutes.'
            : `Required record: ${type} ${name} ${value}. DNS changes can take minutes.`,
      });
    }
    print(shell, args.json, domain, () => {
      shell.out(`${shell.paint('green', 'Verified')} ${hostname}: ${domain.status}`);
      const problem = domain.problem ?? domain.certificate?.problem;
      if (problem != null) shell.out(`  ${shell.paint('yellow', problem)}`);
    });
  },
});
