// `platform secrets sandbox-key`: makes the key of a hosted provider that the sandbox service works with; it is printed
// this once. The administrator's key comes by the environment: arguments are seen by every user of the machine.
import { defineCommand } from 'citty';
import { makeScopedKey } from '#sandbox/backends/hosted/scoped-key.ts';
import { ProviderError } from '#sandbox/backends/hosted/provider.ts';
import { providerUrl } from '#sandbox/backends/hosted/settings.ts';
import { wholeNumber } from '../../terminal/arguments.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

const CALLED = 'platform secrets sandbox-key';
const DAYS_MAX = 365;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

export const command = defineCommand({
  meta: { name: 'sandbox-key', description: 'Make the key that the sandbox service has of a hosted provider' },
  args: {
    name: { type: 'string', valueHint: 'name', description: 'What the provider calls it; default: platform-<date>' },
    days: {
      type: 'string',
      valueHint: 'n',
      default: String(DAYS_MAX),
      description: `Days until it expires, at most ${DAYS_MAX}`,
    },
    template: { type: 'boolean', description: 'Machines start from a template: it may look at snapshots' },
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
          'HOSTED_ADMIN_KEY is a key of the provider that may make keys: give it to this command alone, and no .env.',
      });
    const days = wholeNumber(CALLED, '--days', args.days, 1, DAYS_MAX);
    const name = args.name ?? `platform-${new Date().toISOString().slice(0, 10)}`;
    if (!NAME.test(name))
      throw new CliError('--name takes at most 63 letters, digits, ".", "_" and "-"', {
        exitCode: 2,
        advice: 'Leave it out for platform-<date>.',
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
      const isLater = error instanceof ProviderError && error.status === 503;
      throw new CliError((error as Error).message, {
        advice: isLater
          ? 'It may be changing credentials: try again in some minutes.'
          : 'Look at HOSTED_BASE_URL, HOSTED_ORG and HOSTED_ADMIN_KEY; docs/sandbox-provider.md has what is asked.',
      });
    }
    print(shell, args.json, made, () => {
      shell.out(made.key);
      shell.err(
        `${shell.paint('green', 'Made')} ${made.name}, which may ${made.actions.join(', ')} until ${made.expiresAt.slice(0, 10)}. This is the only time that it is shown: set HOSTED_API_KEY to it.`,
      );
    });
  },
});
