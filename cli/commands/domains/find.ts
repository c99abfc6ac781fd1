// Finds a custom domain by hostname or ID. For `platform domains`.
import { domainToASCII } from 'node:url';
import type { Api } from '../../account/api.ts';
import type { Domain, Project } from '../../api/records.ts';
import { allOf } from '../../api/requests.ts';
import { CliError } from '../../terminal/failure.ts';

/** @param word hostname or ID. @throws {CliError} if not found. */
export async function domainOf(api: Api, project: Project, word: string): Promise<Domain> {
  const domains = await allOf<Domain>(api, `/projects/${encodeURIComponent(project.id)}/domains`);
  // Accept Unicode and a trailing dot: `Straße.example.` is `xn--strae-oqa.example`.
  const host = domainToASCII(word.replace(/\.$/, ''));
  const found = domains.find(({ id, hostname }) => id === word || hostname === host);
  if (found !== undefined) return found;
  throw new CliError(`${project.name} has no domain ${word}`, {
    exitCode: 2,
    advice:
      domains.length === 0
        ? 'Add a domain with `platform domains add <hostname>`.'
        : `Domains: ${domains.map((one) => one.hostname).join(', ')}.`,
  });
}
