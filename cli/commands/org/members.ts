// `platform org members [login]`: lists, invites, changes or removes members of an organization. Without a login,
// --link and --email create an invitation link.
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

/** An invitation as the API returns it, with its link. */
interface Invitation {
  readonly url: string | null;
  readonly expiresAt: string;
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
    link: { type: 'boolean', description: 'Print a link that adds who opens it; needs --role' },
    email: { type: 'string', valueHint: 'address', description: 'Send such a link by mail; needs --role' },
    remove: { type: 'boolean', description: 'Remove the member' },
    ...yesFlag,
    org: targetFlags.org,
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { login, role, remove, link, email } = args;
    const isLink = link === true || email !== undefined;
    if (isLink && (login !== undefined || remove === true || (link === true && email !== undefined)))
      throw misuse('Pass a login, --link or --email');
    if (isLink && role === undefined) throw misuse('Pass --role <role>');
    if (!isLink && login === undefined && (role !== undefined || remove === true))
      throw misuse('Pass the login of a member');
    if (role !== undefined && !ROLES.includes(role)) throw misuse(`--role must be one of ${ROLES.join(', ')}`);
    const api = await needApi(shell, args, 'platform org members');
    const { id, slug } = await organizationOf(api, args.org);
    const path = `/orgs/${encodeURIComponent(id)}/members`;
    const invitations = `/orgs/${encodeURIComponent(id)}/invitations`;
    if (isLink) {
      const body = { role, ...(email !== undefined && { email }) };
      const { url, expiresAt } = await ask<Invitation>(api, 'POST', invitations, { body });
      return print(shell, args.json, { invited: email ?? null, role, url, expiresAt }, () => {
        const terms = `as ${role}, until ${expiresAt.slice(0, 10)}`;
        if (url !== null) shell.out(url);
        shell.err(
          url === null
            ? `${shell.paint('green', 'Invited')} ${email} to ${slug} ${terms}`
            : `The link adds one person to ${slug} ${terms}. It is shown only once.`,
        );
      });
    }
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
      await ask(api, 'POST', invitations, { body: { login, role } });
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
