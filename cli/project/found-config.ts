// `platform init --from`: writes platform.yaml for an existing project by detection. Called by commands/init.ts.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import { configIn, loadProject } from './project.ts';
import { detectIn, resolveProject } from './resolved-config.ts';

/** The written configuration. */
interface FoundConfig {
  readonly file: string;
  /** The keys that are written; other settings are detected at each build. */
  readonly config: Readonly<Record<string, string>>;
  /** The reasons for the keys, one line for each key. */
  readonly said: readonly string[];
}

/**
 * Writes `platform.yaml` into the folder of a project.
 *
 * @throws {CliError} if the file exists, or the kind of project is unknown. {BuildError} `not_supported` with advice;
 * no file is written.
 */
export function writeFoundConfig(shell: Shell, folder: string): FoundConfig {
  const existing = configIn(folder);
  if (existing !== undefined)
    throw new CliError(`${path.basename(existing)} already exists`, {
      advice: 'Delete the file first: `platform init --from` does not change existing files.',
    });
  const project = loadProject(shell, folder, null);
  const { framework, kind, build, main, out } = detectIn(project);
  if (framework === null && kind === null && build === null && main === null)
    throw new CliError('Could not detect the kind of this project', {
      advice: 'Start from a template: see `platform init --list`.',
    });
  const said: string[] = [];
  const settled = resolveProject(project, (line) => said.push(line)).config;
  const isStatic = (settled.kind ?? kind) === 'static';
  const found = {
    kind: settled.kind ?? kind,
    // Static projects need an explicit build command, even a no-op.
    build: settled.build ?? (isStatic ? 'true' : null),
    out: settled.out ?? (isStatic && out.length === 1 ? out[0]! : null),
    main: settled.main,
  };
  const config = Object.fromEntries(
    (['kind', 'build', 'out', 'main'] as const).flatMap((key) => {
      const value = found[key];
      return value === null ? [] : [[key, value]];
    }),
  );
  const file = path.join(folder, 'platform.yaml');
  const comments = said.map((line) => `# ${line.replaceAll(/\s+/g, ' ')}\n`).join('');
  const lines = Object.entries(config).map(([key, value]) => `${key}: ${toYaml(value)}\n`);
  writeFileSync(file, `${comments}${lines.join('')}`, { flag: 'wx' });
  return { file, config, said };
}

/** A YAML scalar: plain if possible, else quoted as JSON. */
function toYaml(text: string): string {
  return /^(?!(?:true|false|null|yes|no|on|off)$)[A-Za-z_][\w./@ -]*$/i.test(text) ? text : JSON.stringify(text);
}
