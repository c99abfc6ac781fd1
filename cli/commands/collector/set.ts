// `platform collector set <url> [name=value ...]`: sends the spans of a project to a collector by OTLP.
import { defineCommand } from 'citty';
import { needProject, targetFlags } from '../../api/project.ts';
import { ask } from '../../api/requests.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import type { Collector } from './show.ts';

export const command = defineCommand({
  meta: { name: 'set', description: 'Send the spans of a project to a collector' },
  args: {
    url: {
      type: 'positional',
      required: true,
      description: 'Full URL, for example https://otel.example.com/v1/traces',
    },
    headers: {
      type: 'positional',
      required: false,
      valueHint: 'more',
      description: 'Headers as name=value; for a name only, the value is read from standard input',
    },
    ...targetFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const [url = '', ...words] = args._;
    const headers = await headersOf(shell, words);
    const { api, project } = await needProject(shell, args, 'platform collector set');
    const body = { url, headers };
    const set = await ask<Collector>(api, 'PUT', `/projects/${encodeURIComponent(project.id)}/collector`, { body });
    print(shell, args.json, set, () =>
      shell.out(`${shell.paint('green', 'Set')} the spans of ${project.name} go to ${new URL(set.url).host}`),
    );
  },
});

/** Reads the value of a lone name from standard input, to keep it out of the shell history. */
async function headersOf(shell: Shell, words: readonly string[]): Promise<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const word of words) {
    const at = word.indexOf('=');
    if (at > 0) headers[word.slice(0, at)] = word.slice(at + 1);
    else if (at === 0 || words.length > 1)
      throw new CliError(`Invalid header "${word}": use name=value`, {
        exitCode: 2,
        advice: 'For a name only, the value is read from standard input.',
      });
    else {
      if (process.stdin.isTTY) shell.err(`Enter the value of ${word}, then press Ctrl-D on a new line:`);
      headers[word] = Buffer.from(await shell.input())
        .toString()
        .trim();
    }
  }
  return headers;
}
