// Lists variables of `.env` that are not set on the platform: `platform deploy` does not upload them.
import type { Shell } from '../terminal/shell.ts';

/**
 * The hint about names that are only in `.env`.
 *
 * @param what the scope as text: 'production', 'previews of login'.
 */
export function unsetAdvice(
  shell: Shell,
  unset: readonly string[],
  what: string,
  isProduction: boolean,
  branch: string,
): string {
  const names = unset.length > 5 ? `${unset.slice(0, 5).join(', ')} and ${unset.length - 5} more` : unset.join(', ');
  const flag = isProduction ? '' : ` --branch ${branch}`;
  return shell.paint(
    'yellow',
    `In .env but not set for ${what}: ${names}. Set these variables with \`platform env set ${unset[0]}${flag}\`, or all with \`platform deploy --env-file .env\``,
  );
}
