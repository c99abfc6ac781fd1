// Generates the CLI reference from the definitions of the commands.
import type { ArgsDef } from 'citty';
import { leavesOf } from '#cli/commands/tree.ts';
import { code, madeFrom, table } from './table.ts';

export async function commandsPage(): Promise<string> {
  const parts: string[] = [];
  for (const { path, leaf } of leavesOf()) {
    // Aliases below `platform api` are skipped, because they are listed elsewhere.
    if (path[0] === 'api' && path[1] !== 'call') continue;
    const { command } = await leaf.load();
    const definitions = ((await command.args) ?? {}) as ArgsDef;
    const all = Object.entries(definitions);
    const places = all.filter(([, { type }]) => type === 'positional');
    const flags = all.filter(([, { type }]) => type !== 'positional');
    const usage = [
      'platform',
      ...path,
      ...places.map(([name, { required }]) => (required ? `<${name}>` : `[${name}]`)),
    ];
    parts.push(
      [
        `## platform ${path.join(' ')}`,
        `${leaf.summary}.`,
        `\`\`\`text\n${usage.join(' ')}${flags.length > 0 ? ' [flags]' : ''}\n\`\`\``,
        ...(places.length === 0
          ? []
          : [
              table(
                ['argument', 'meaning'],
                places.map(([name, { description }]) => [code(name), description ?? '']),
              ),
            ]),
        ...(flags.length === 0
          ? []
          : [
              table(
                ['flag', 'meaning', 'default'],
                flags.map(([name, definition]) => [
                  flagNames(name, definition).map(code).join(', '),
                  definition.description ?? '',
                  'default' in definition && definition.default !== undefined && definition.type !== 'boolean'
                    ? code(String(definition.default))
                    : '',
                ]),
              ),
            ]),
      ].join('\n\n'),
    );
  }
  return `# Commands and flags

Arguments and flags of each command. See [CLI](/cli) for descriptions and examples. \`platform <command> --help\` prints the same.

${parts.join('\n\n')}

${madeFrom('cli/commands/')}
`;
}

function flagNames(name: string, definition: ArgsDef[string]): string[] {
  const aliases = 'alias' in definition ? [definition.alias ?? []].flat() : [];
  const isNegative = definition.type === 'boolean' && definition.default === true;
  const hint = 'valueHint' in definition && definition.valueHint !== undefined ? ` <${definition.valueHint}>` : '';
  const value = definition.type === 'string' ? hint || ' <text>' : '';
  return [
    ...aliases.map((one) => (one.length > 1 ? `--${one}` : `-${one}`)),
    isNegative ? `--no-${name}` : `--${name}${value}`,
  ];
}
