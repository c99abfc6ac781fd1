// `platform org members [login]`: lists, invites, changes or removes members of an organization.
import { defineCommand } from 'citty';
import { organizationOf, targetFlags } from '../../api/project.ts';
import { allOf, ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import { confirm, yesFlag } from '../../terminal/confirm.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print, printTable } from '../../terminal/table.ts';

interface Member {
  readonly accountId: string;
  readonly login: string;
  readonly name: string;
  readonly role: string;
}

const ROLES = ['admin', 'member', 'viewer'];

export const command = defineCommand({
  meta: { name: 'members', description: 'List, invite, change or remove members' },
  args: {
    login: { type: 'positional', required: false, description: 'Member to change (--role) or remove (--remove)' },
    role: {
      type: 'string',
      valueHint: 'role',
      description: `Role: ${ROLES.join(', ')}; invites the user if not a member`,
    },
    remove: { type: 'boolean', description: 'Remove the member' },
    ...yesFlag,
    org: targetFlags.org,
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { login, role, remove } = args;
    if (login === undefined && (role !== undefined || remove === true)) throw misuse('Pass the login of a member');
    if (role !== undefined && !ROLES.includes(role)) throw misuse(`--role must be one of ${ROLES.join(', ')}`);
    const api = await needApi(shell, args, 'platform org members');
    const { id, slug } = await organizationOf(api, args.org);
    const path = `/orgs/${encodeURIComponent(id)}/members`;
    const members = await allOf<Member>(api, path);
    if (login === undefined)
      return print(shell, args.json, { organization: slug, members }, () =>
        printTable(shell, {
          columns: ['login', 'name', 'role'],
          rows: members.map((member) => [member.login, member.name, member.role]),
          empty: `${slug} has no members`,
        }),
      );
    const member = members.find((one) => one.login === login);
    const one = member === undefined ? null : `${path}/${encodeURIComponent(member.accountId)}`;
    if (remove === true) {
      if (one === null) throw new CliError(`${login} is not a member of ${slug}`);
      await confirm(shell, args.yes, `${login} will be removed from ${slug}.`);
      await ask(api, 'DELETE', one);
      return print(shell, args.json, { removed: login }, () =>
        shell.out(`${shell.paint('green', 'Removed')} ${login}`),
      );
    }
    if (role === undefined) throw misuse('Pass --role <role> or --remove');
    if (one === null) {
      await ask(api, 'POST', `/orgs/${encodeURIComponent(id)}/invitations`, { body: { login, role } });
      return print(shell, args.json, { invited: login, role }, () =>
        shell.out(`${shell.paint('green', 'Invited')} ${login} as ${role}: they can accept after logging in`),
      );
    }
    await ask(api, 'PATCH', one, { body: { role } });
    print(shell, args.json, { login, role }, () =>
      shell.out(`${shell.paint('green', 'Changed')} the role of ${login} to ${role}`),
    );
  },
});

function misuse(message: string): CliError {
  return new CliError(message, { exitCode: 2, advice: 'Run `platform org members --help` for usage.' });
}
