// The custom domain that a word of `platform domains` means.
import { domainToASCII } from 'node:url';
import type { Api } from '../../account/api.ts';
import type { Domain, Project } from '../../api/records.ts';
import { allOf } from '../../api/requests.ts';
import { CliError } from '../../terminal/failure.ts';

/** @param word hostname or id. @throws {CliError} where the project has none such. */
export async function domainOf(api: Api, project: Project, word: string): Promise<Domain> {
  const domains = await allOf<Domain>(api, `/projects/${encodeURIComponent(project.id)}/domains`);
  // As people write it: `Straße.example.` is `xn--strae-oqa.example`.
  const host = domainToASCII(word.replace(/\.$/, ''));
  const found = domains.find(({ id, hostname }) => id === word || hostname === host);
  if (found !== undefined) return found;
  throw new CliError(`${project.name} has no domain ${word}`, {
    exitCode: 2,
    advice:
      domains.length === 0
        ? 'It has none: `platform domains add <hostname>`.'
        : `It has ${domains.map((one) => one.hostname).join(', ')}.`,
  });
}
