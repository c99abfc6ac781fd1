// `platform secrets sandbox-key`: creates the sandbox service's key at a hosted provider and prints it once. The admin
// key is read from the environment, since other users of the machine can see arguments.
import { defineCommand } from 'citty';
import { isFailure } from '#core/failure.ts';
import { makeScopedKey } from '#sandbox/backends/hosted/scoped-key.ts';
import { providerUrl } from '#sandbox/backends/hosted/settings.ts';
import { wholeNumber } from '../../terminal/arguments.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

const CALLED = 'platform secrets sandbox-key';
const DAYS_MAX = 365;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

export const command = defineCommand({
  meta: { name: 'sandbox-key', description: "Create the sandbox service's key at a hosted provider" },
  args: {
    name: { type: 'string', valueHint: 'name', description: 'Name of the key; default: platform-<date>' },
    days: {
      type: 'string',
      valueHint: 'n',
      default: String(DAYS_MAX),
      description: `Days until the key expires, at most ${DAYS_MAX}`,
    },
    template: { type: 'boolean', description: 'Machines start from a template: allow reading snapshots' },
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const get = (name: string): string => shell.env[name]?.trim() ?? '';
    const missing = ['HOSTED_ADMIN_KEY', 'HOSTED_BASE_URL', 'HOSTED_ORG'].filter((name) => get(name) === '');
    if (missing.length > 0)
      throw new CliError(`${CALLED} needs ${missing.join(', ')} in its environment`, {
        exitCode: 2,
        advice:
          'HOSTED_ADMIN_KEY is a provider key that can create keys. Pass this key only to this command, not in .env.',
      });
    const days = wholeNumber(CALLED, '--days', args.days, 1, DAYS_MAX);
    const name = args.name ?? `platform-${new Date().toISOString().slice(0, 10)}`;
    if (!NAME.test(name))
      throw new CliError('--name takes at most 63 letters, digits, ".", "_" and "-"', {
        exitCode: 2,
        advice: 'Omit the name for platform-<date>.',
      });
    let made;
    try {
      made = await makeScopedKey({
        baseUrl: providerUrl(get('HOSTED_BASE_URL')),
        adminKey: get('HOSTED_ADMIN_KEY'),
        organization: get('HOSTED_ORG'),
        name,
        days,
        hasTemplate: args.template === true,
      });
    } catch (error) {
      const isLater = isFailure(error, 'sandbox_provider') && error.status === 503;
      throw new CliError((error as Error).message, {
        advice: isLater
          ? 'The provider may be rotating credentials: try again in a few minutes.'
          : 'Check HOSTED_BASE_URL, HOSTED_ORG and HOSTED_ADMIN_KEY; see docs/sandbox-provider.md.',
      });
    }
    print(shell, args.json, made, () => {
      shell.out(made.key);
      shell.err(
        `${shell.paint('green', 'Created')} ${made.name} with the permissions ${made.actions.join(', ')}, which expires ${made.expiresAt.slice(0, 10)}. It is shown only once: set HOSTED_API_KEY to it.`,
      );
    });
  },
});
