// `platform projects settings [name] [key=value ...]`: shows or changes the settings of a project.
import { defineCommand } from 'citty';
import { needProject, targetFlags } from '../../api/project.ts';
import { ask } from '../../api/requests.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print, printTable } from '../../terminal/table.ts';

/** A project with its settings. Settings of builds are nested in `settings`. */
interface Settled {
  readonly description: string;
  readonly visibility: string;
  readonly defaultBranch: string;
  readonly configPath: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

export const command = defineCommand({
  meta: { name: 'settings', description: 'Show or change the settings of a project' },
  args: {
    changes: {
      type: 'positional',
      required: false,
      valueHint: 'more',
      description: 'key=value; `key=` resets a setting to its default',
    },
    ...targetFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const changes = Object.fromEntries(args._.map(changeOf));
    const { api, project } = await needProject(shell, args, 'platform projects settings');
    const path = `/projects/${encodeURIComponent(project.id)}`;
    const isChange = Object.keys(changes).length > 0;
    const settled = await ask<Settled>(api, isChange ? 'PATCH' : 'GET', path, isChange ? { body: changes } : {});
    const { description, visibility, defaultBranch, configPath } = settled;
    const settings = { description, visibility, defaultBranch, configPath, ...settled.settings };
    print(shell, args.json, { project: project.name, settings }, () =>
      printTable(shell, {
        columns: ['setting', 'value'],
        rows: Object.entries(settings).map(([key, value]) => [
          key,
          value === null ? null : typeof value === 'string' ? value : JSON.stringify(value),
        ]),
        empty: `${project.name} has no custom settings`,
      }),
    );
  },
});

/** Parses booleans and numbers; an empty value is null. */
function changeOf(word: string): [string, unknown] {
  const [, key, text] = /^([A-Za-z][\w.]*)=(.*)$/s.exec(word) ?? [];
  if (key === undefined || text === undefined)
    throw new CliError(`Invalid setting "${word}": use key=value`, {
      exitCode: 2,
      advice: '`platform projects settings` lists the settings.',
    });
  if (text === '') return [key, null];
  if (text === 'true' || text === 'false') return [key, text === 'true'];
  return [key, /^-?\d{1,15}$/.test(text) ? Number(text) : text];
}
