// Says which variables of `.env` a deployment does not have: they are set on the platform, not taken along.
import type { Shell } from '../terminal/shell.ts';

/**
 * What to tell of names that are in `.env` only.
 *
 * @param what in words: 'production', 'previews of login'.
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
    `In .env, and not set for ${what}: ${names}. Set them with \`platform env set ${unset[0]}${flag}\`, or all with \`platform deploy --env-file .env\``,
  );
}
